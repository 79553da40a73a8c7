-- Takes the lease if nobody has it. SKIP LOCKED: whoever is at it is not waited for. A lease of more
-- than an hour was written by a clock that jumped; its owner is fenced by the new token.
WITH free AS (
  SELECT m.one
    FROM {{schema}}.outbox_maintenance m
   WHERE m.lease_until IS NULL OR m.lease_until <= clock_timestamp() OR m.lease_until > clock_timestamp() + interval '1 hour'
     FOR UPDATE SKIP LOCKED
)
UPDATE {{schema}}.outbox_maintenance m
   SET lease_owner = $1, lease_token = gen_random_uuid(), lease_until = clock_timestamp() + $2::interval
  FROM free
 WHERE m.one = free.one
RETURNING m.lease_token::text
