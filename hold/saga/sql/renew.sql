-- From now on, and not from the old value on. A lease that is over is not renewed.
UPDATE {{.Schema}}.saga_operation
   SET lease_expires_at = clock_timestamp() + $4::interval
 WHERE operation_id = $1 AND generation = $2 AND lease_holder = $3
   AND state = 'in_progress' AND lease_expires_at > clock_timestamp()
