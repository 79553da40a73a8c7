-- The lock of the entity is held, so that two facts cannot get one number.
INSERT INTO fact (entity_id, number, key_id, sealed, operation_id, generation)
SELECT $1, coalesce(max(f.number), 0) + 1, $2, $3, $4, $5 FROM fact f WHERE f.entity_id = $1
