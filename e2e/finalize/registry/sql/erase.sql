-- By the ids of the keys, captured under the lock: those of the facts that the operation wrote.
WITH captured AS (
  SELECT f.key_id FROM fact f WHERE f.entity_id = $1 AND f.operation_id = $2 AND f.generation = $3
), erased AS (
  UPDATE fact_key k SET secret = NULL, destroyed_at = clock_timestamp()
    FROM captured c
   WHERE k.id = c.key_id AND k.secret IS NOT NULL
)
UPDATE entity SET active = false WHERE id = $1
