SELECT generation, step_key, remote_kind, remote_id, recorded_at
  FROM {{.Schema}}.saga_step
 WHERE operation_id = $1
 ORDER BY generation, recorded_at, step_key
