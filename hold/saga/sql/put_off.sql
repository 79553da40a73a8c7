-- One more failed attempt to compensate. The last one, or one that cannot be repeated with
-- another outcome, gives the operation to a person.
WITH failed AS (
  UPDATE {{.Schema}}.saga_operation
     SET attempts = attempts + 1, lease_holder = NULL, lease_expires_at = NULL,
         next_attempt_at = clock_timestamp() + $4::interval,
         state = CASE WHEN $5 OR attempts + 1 >= $6 THEN 'stuck' ELSE 'compensating' END,
         updated_at = CASE WHEN $5 OR attempts + 1 >= $6 THEN clock_timestamp() ELSE updated_at END
   WHERE operation_id = $1 AND generation = $2 AND lease_holder = $3 AND state = 'compensating'
  RETURNING operation_id, generation, state
), told AS (
  INSERT INTO {{.Schema}}.saga_audit (operation_id, generation, action, actor, state_before, state_after)
  SELECT f.operation_id, f.generation, 'give_up', $7, 'compensating', 'stuck' FROM failed f WHERE f.state = 'stuck'
)
SELECT coalesce((SELECT f.state FROM failed f), '')
