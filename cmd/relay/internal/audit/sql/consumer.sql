SELECT h.at, CASE h.state WHEN 'discarded' THEN 'consumer-dead-letter.discard' ELSE 'consumer-dead-letter.replay' END AS what,
       h.dead_letter_id::text AS subject, h.actor, h.reason, h.id
  FROM {{schema}}.consumer_dead_letter_history AS h
 WHERE h.state IN ('replay_requested', 'discarded')
UNION ALL
SELECT c.changed_at, CASE c.state WHEN 'paused' THEN 'consumer.pause' ELSE 'consumer.resume' END,
       c.consumer_group, c.changed_by, c.reason, 0
  FROM {{schema}}.consumer_control AS c
UNION ALL
SELECT q.resolved_at, 'consumer-quarantine.resolve', q.id::text, q.resolved_by, q.resolution, q.id
  FROM {{schema}}.consumer_quarantine AS q
 WHERE q.state = 'resolved'
UNION ALL
-- The ledger keeps who repaired in brackets behind the reason.
SELECT r.created_at, 'consumer.repair', r.relation || ' ' || r.duplicate_id,
       coalesce(substring(r.reason FROM '^.* \((.*)\)$'), ''), coalesce(substring(r.reason FROM '^(.*) \(.*\)$'), r.reason), r.id
  FROM {{schema}}.consumer_repair AS r
