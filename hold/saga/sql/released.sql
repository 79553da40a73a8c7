-- A release that is confirmed twice is confirmed.
UPDATE {{.Schema}}.saga_operation
   SET events_released = true, updated_at = clock_timestamp()
 WHERE operation_id = $1 AND generation = $2 AND state = 'completed' AND NOT events_released
