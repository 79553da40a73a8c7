-- Under the lock of the entities, of which all that is known has the mark of the flow.
WITH erased AS (
  UPDATE fact_key k SET secret = NULL, destroyed_at = clock_timestamp()
    FROM fact f
   WHERE f.entity_id = ANY ($1) AND k.id = f.key_id AND k.secret IS NOT NULL
)
UPDATE entity SET active = false WHERE id = ANY ($1)
