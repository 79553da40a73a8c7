-- How many events are committed, not held, and not passed by the cursor of their lane; and
-- how many were refused and wait.
SELECT count(*) + (SELECT count(*) FROM outbox.outbox_retry WHERE relay_group = 'default')
  FROM outbox.event_outbox e
  JOIN outbox.outbox_lane l ON l.lane = e.lane AND l.relay_group = 'default'
 WHERE e.tx IS NOT NULL AND NOT pg_visible_in_snapshot(e.tx, l.drained)
   AND (l.target IS NULL OR NOT (pg_visible_in_snapshot(e.tx, l.target) AND e.seq <= l.pos))
