SELECT digest_key_id, request_digest, participants
  FROM {{.Schema}}.saga_operation
 WHERE operation_id = $1 AND generation = $2 AND lease_holder = $3 AND state = 'in_progress'
