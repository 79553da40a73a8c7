-- What was done with one event that was held under a generation, or with a whole generation; and
-- wherever an event with that id was dropped alone.
SELECT a.at, a.operation_id::text, a.generation, a.action, a.actor, coalesce(a.reason, ''), a.events
  FROM {{.Schema}}.hold_audit a
 WHERE a.action = 'drop-event' AND a.item = $1
    OR a.action IN ('release', 'cancel', 'drop', 'expire')
       AND a.operation_id = $2::text::uuid AND a.generation = $3
 ORDER BY a.id
