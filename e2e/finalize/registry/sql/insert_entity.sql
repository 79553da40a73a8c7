INSERT INTO entity (id, kind, household_id, person_id, operation_id, generation)
VALUES ($1, $2, $3, $4, $5, $6)
