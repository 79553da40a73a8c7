SELECT a.at, 'hold.' || a.action AS what,
       concat_ws(' ', a.operation_id, a.generation, a.item) AS subject, a.actor, coalesce(a.reason, '') AS reason, a.id
  FROM {{schema}}.hold_audit AS a
