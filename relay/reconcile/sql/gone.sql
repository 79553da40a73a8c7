-- Events that the log has forgotten while they were dead letters, which have copies of their own.
SELECT DISTINCT h.event_id
  FROM {{schema}}.outbox_dead_letter_history h
 WHERE h.relay_group = $1
   AND NOT EXISTS (SELECT FROM {{schema}}.event_outbox e WHERE e.lane = h.lane AND e.seq = h.seq)
