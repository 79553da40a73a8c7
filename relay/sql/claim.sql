-- Takes up to $4 lanes that nobody owns or whose lease has ended. SKIP LOCKED lets
-- pods that come at once take different lanes without waiting for one another. Another
-- cluster, which somebody put in place of this one, gives none.
WITH free AS (
  SELECT l.lane, l.lease_owner AS previous_owner
    FROM {{schema}}.outbox_lane l
   WHERE l.relay_group = $1 AND (l.lease_until IS NULL OR l.lease_until <= clock_timestamp())
     AND {{home}}
   ORDER BY l.lane
   LIMIT $4
     FOR UPDATE SKIP LOCKED
)
UPDATE {{schema}}.outbox_lane l
   SET lease_owner = $2, lease_token = gen_random_uuid(), lease_until = clock_timestamp() + $3::interval
  FROM free
 WHERE l.relay_group = $1 AND l.lane = free.lane
RETURNING l.lane, l.lease_token::text, l.drained::text, l.target::text, l.pos, l.stream_seq, coalesce(free.previous_owner, ''), {{incarnation}}
