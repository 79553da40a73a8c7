WITH aborted AS (
  UPDATE {{.Schema}}.saga_operation
     SET state = 'aborted', lease_holder = NULL, lease_expires_at = NULL, updated_at = clock_timestamp()
   WHERE operation_id = $1 AND generation = $2 AND lease_holder = $3 AND state = 'compensating'
  RETURNING operation_id, generation
), told AS (
  INSERT INTO {{.Schema}}.saga_audit (operation_id, generation, action, actor, state_before, state_after)
  SELECT a.operation_id, a.generation, 'abort', $4, 'compensating', 'aborted' FROM aborted a
)
SELECT count(*) = 1 FROM aborted
