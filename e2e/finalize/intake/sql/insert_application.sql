INSERT INTO application (id, household_id, filed_on, received_at, consent) VALUES ($1, $2, $3, $4, $5)
