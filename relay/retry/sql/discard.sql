-- Removes dead letters for good, and keeps who did it and why.
WITH dead AS (
  DELETE FROM {{schema}}.outbox_dead_letter d WHERE d.relay_group = $1 AND d.id = ANY ($2::bigint[])
  RETURNING d.id, d.seq, d.attempts, d.requeue_epoch, d.lane, d.relay_group, d.event_id, d.partition_key
), told AS (
  INSERT INTO {{schema}}.outbox_dead_letter_history
    (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason)
  SELECT d.id, d.seq, d.attempts, d.requeue_epoch, d.lane, d.relay_group, d.event_id, 'discarded', $3, $4 FROM dead d
)
SELECT d.id FROM dead d ORDER BY d.id
