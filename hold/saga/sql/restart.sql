-- The row is locked and its generation was undone. The next one is pinned anew.
WITH forgotten AS (
  DELETE FROM {{.Schema}}.saga_step WHERE operation_id = $1
)
UPDATE {{.Schema}}.saga_operation
   SET generation = generation + 1, state = 'in_progress', kind = $2, attempts = 0,
       lease_holder = $3, lease_expires_at = clock_timestamp() + $4::interval, basis = $5::text::jsonb,
       request_digest = $6, digest_key_id = $7, participants = $8,
       next_attempt_at = clock_timestamp(), updated_at = clock_timestamp()
 WHERE operation_id = $1 AND state = 'aborted'
RETURNING generation, basis::text, participants
