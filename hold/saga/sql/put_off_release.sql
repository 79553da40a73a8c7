UPDATE {{.Schema}}.saga_operation
   SET attempts = attempts + 1, next_attempt_at = clock_timestamp() + $3::interval
 WHERE operation_id = $1 AND generation = $2 AND state = 'completed' AND NOT events_released
