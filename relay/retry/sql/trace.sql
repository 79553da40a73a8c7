-- What was done with the dead letters of the events that an id names: that of a dead letter, also
-- of one that is gone, or that of an event.
SELECT h.at, h.dead_letter_id, h.event_id, h.lane, h.seq, h.action, h.actor, h.reason, h.attempts, h.requeue_epoch
  FROM {{schema}}.outbox_dead_letter_history h
 WHERE h.relay_group = $1
   AND (h.lane, h.seq) IN (SELECT n.lane, n.seq FROM {{schema}}.outbox_dead_letter_history n
                            WHERE n.relay_group = $1 AND (n.dead_letter_id = $2::bigint OR n.event_id = $3::text))
 ORDER BY h.id
