-- The pods that are alive.
SELECT r.owner, r.version, r.started_at
  FROM {{schema}}.outbox_relay r
 WHERE r.relay_group = $1 AND r.alive_until > clock_timestamp()
 ORDER BY r.started_at, r.owner
