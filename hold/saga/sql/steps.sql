SELECT step_key, remote_kind, remote_id, recorded_at
  FROM {{.Schema}}.saga_step
 WHERE operation_id = $1 AND generation = $2
 ORDER BY recorded_at, step_key
