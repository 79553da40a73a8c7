SELECT h.at, CASE h.action WHEN 'requeued' THEN 'dead-letter.requeue' ELSE 'dead-letter.discard' END AS what,
       h.dead_letter_id::text AS subject, h.actor, h.reason, h.id
  FROM {{schema}}.outbox_dead_letter_history AS h
 WHERE h.action IN ('requeued', 'discarded')
