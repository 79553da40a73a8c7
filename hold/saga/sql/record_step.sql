-- Race: the lock keeps a steal, or a reconciler, away until the step is recorded or refused.
WITH mine AS (
  SELECT operation_id FROM {{.Schema}}.saga_operation
   WHERE operation_id = $1 AND generation = $2 AND lease_holder = $3 AND state = 'in_progress'
     FOR NO KEY UPDATE
), recorded AS (
  INSERT INTO {{.Schema}}.saga_step (operation_id, generation, step_key, remote_kind, remote_id)
  SELECT m.operation_id, $2, $4, $5, $6 FROM mine m
      ON CONFLICT (operation_id, generation, step_key) DO NOTHING
  RETURNING remote_id
)
SELECT EXISTS (SELECT FROM mine),
       coalesce((SELECT r.remote_id FROM recorded r),
                (SELECT s.remote_id FROM {{.Schema}}.saga_step s WHERE s.operation_id = $1 AND s.generation = $2 AND s.step_key = $4), '')
