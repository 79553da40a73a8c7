SELECT at, generation, action, actor, coalesce(reason, ''), state_before, state_after
  FROM {{.Schema}}.saga_audit
 WHERE operation_id = $1
 ORDER BY id
