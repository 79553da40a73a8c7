-- A participant remembers more generations than this database, where the row was pruned. Only
-- before the first step, and only by the holder.
UPDATE {{.Schema}}.saga_operation o
   SET generation = $4
 WHERE o.operation_id = $1 AND o.generation = $2 AND o.lease_holder = $3 AND o.state = 'in_progress' AND $4 > $2
   AND o.lease_expires_at > clock_timestamp()
   AND NOT EXISTS (SELECT FROM {{.Schema}}.saga_step s WHERE s.operation_id = o.operation_id)
