-- Never what is completed and not released: held events would wait for ever. What is locked is left.
WITH old AS MATERIALIZED (
  SELECT operation_id FROM {{.Schema}}.saga_operation
   WHERE (state = 'aborted' OR state = 'completed' AND events_released)
     AND updated_at < statement_timestamp() - $1::interval
   ORDER BY updated_at
   LIMIT $2
     FOR UPDATE SKIP LOCKED
)
DELETE FROM {{.Schema}}.saga_operation o USING old d WHERE o.operation_id = d.operation_id
