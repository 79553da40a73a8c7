-- What waits for a retry, counted up to $2; how long the one that came first has waited, since it
-- was staged or, if somebody requeued it, since its last attempt; how long the longest has been due
-- without an owner; and the dead letters, counted up to $2. now() and not the clock, so that the
-- index on what is due is asked for a range.
SELECT (SELECT count(*) FROM (SELECT FROM {{schema}}.outbox_retry r WHERE r.relay_group = $1 LIMIT $2) AS w),
       coalesce((SELECT extract(epoch FROM clock_timestamp() -
                          CASE WHEN r.requeue_epoch > 0 THEN r.updated_at ELSE coalesce(e.staged_at, r.updated_at) END)
                   FROM (SELECT * FROM {{schema}}.outbox_retry f WHERE f.relay_group = $1 ORDER BY f.id LIMIT 1) AS r
                   LEFT JOIN {{schema}}.event_outbox e ON e.lane = r.lane AND e.seq = r.seq
                  LIMIT 1), 0)::float8,
       coalesce((SELECT extract(epoch FROM now() - r.next_visible_at)
                   FROM {{schema}}.outbox_retry r
                  WHERE r.relay_group = $1 AND r.next_visible_at <= now()
                    AND (r.lease_until IS NULL OR r.lease_until <= now())
                  ORDER BY r.next_visible_at, r.id LIMIT 1), 0)::float8,
       (SELECT count(*) FROM (SELECT FROM {{schema}}.outbox_dead_letter d WHERE d.relay_group = $1 LIMIT $2) AS w)
