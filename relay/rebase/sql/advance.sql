-- Moves the sequence of positions forward, never back.
SELECT setval('{{schema}}.event_outbox_seq', $1)
  FROM {{schema}}.event_outbox_seq s
 WHERE $1 > CASE WHEN s.is_called THEN s.last_value ELSE s.last_value - 1 END
