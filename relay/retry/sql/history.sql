-- What was done with the dead letters of an event.
SELECT h.at, h.dead_letter_id, h.event_id, h.lane, h.seq, h.action, h.actor, h.reason, h.attempts, h.requeue_epoch
  FROM {{schema}}.outbox_dead_letter_history h
 WHERE h.relay_group = $1 AND h.lane = $2 AND h.seq = $3
 ORDER BY h.id
