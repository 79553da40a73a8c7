-- Claims due rows, heads of their keys only. SKIP LOCKED lets workers share the rows one by one.
-- What is not sound (an overlap with a dead letter, a code or a digest that is not one, a part
-- of a lease, a version at its end) is left out alone, and the others go on. Another cluster, which
-- somebody put in place of this one, gives none.
WITH due AS (
  SELECT r.id
    FROM {{schema}}.outbox_retry r
   WHERE r.relay_group = $1
     AND r.next_visible_at <= (SELECT clock_timestamp()) -- a volatile function alone is no index condition
     AND (r.lease_until IS NULL OR r.lease_until <= clock_timestamp())
     AND NOT EXISTS (SELECT FROM {{schema}}.outbox_retry h
                      WHERE h.relay_group = r.relay_group AND h.lane = r.lane
                        AND h.partition_key = r.partition_key AND h.seq < r.seq)
     AND ($5 = false OR NOT EXISTS (SELECT FROM {{schema}}.outbox_dead_letter d
                      WHERE d.relay_group = r.relay_group AND d.lane = r.lane
                        AND d.partition_key = r.partition_key AND d.seq < r.seq))
     AND NOT EXISTS (SELECT FROM {{schema}}.outbox_dead_letter d
                      WHERE d.relay_group = r.relay_group AND d.lane = r.lane AND d.seq = r.seq)
     AND {{sound}}
     AND {{home}}
   ORDER BY r.next_visible_at, r.id
   LIMIT $4
     FOR UPDATE OF r SKIP LOCKED
)
UPDATE {{schema}}.outbox_retry r
   SET lease_owner = $2, lease_token = gen_random_uuid(), lease_until = clock_timestamp() + $3::interval,
       row_version = r.row_version + 1, updated_at = clock_timestamp()
  FROM due
 WHERE r.id = due.id
RETURNING r.id, r.lane, r.seq, r.event_id, coalesce(r.partition_key, ''), r.attempts, r.requeue_epoch, r.row_version,
          r.lease_owner, r.lease_token, r.lease_until
