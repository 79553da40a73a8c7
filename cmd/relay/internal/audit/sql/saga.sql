-- abort is what a reconciler does in the end, and order_abort what a person asks for.
SELECT a.at, 'operation.' || CASE a.action WHEN 'order_abort' THEN 'abort' WHEN 'abort' THEN 'undo' WHEN 'give_up' THEN 'give-up' ELSE a.action END AS what,
       a.operation_id::text AS subject, a.actor, coalesce(a.reason, '') AS reason, a.id
  FROM {{schema}}.saga_audit AS a
