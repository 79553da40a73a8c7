SELECT operation_id, generation
  FROM {{.Schema}}.saga_operation
 WHERE state = 'completed' AND NOT events_released AND kind = ANY ($1) AND next_attempt_at <= statement_timestamp()
 ORDER BY next_attempt_at, operation_id
 LIMIT $2
