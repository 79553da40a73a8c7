-- Moves dead letters back to the waiting set, each with its event, a further epoch, and a line
-- of history. They are due now; their place among the events of their key is the requeue.
WITH dead AS (
  DELETE FROM {{schema}}.outbox_dead_letter d WHERE d.relay_group = $1 AND d.id = ANY ($2::bigint[])
  RETURNING d.*
), kept AS (
  INSERT INTO {{schema}}.outbox_requeued
    (relay_group, seq, staged_at, "time", hold_generation, lane, hold_operation_id, event_id, source, type,
     subject, datacontenttype, dataschema, partition_key, extensions, data)
  SELECT d.relay_group, d.seq, d.staged_at, d."time", d.hold_generation, d.lane, d.hold_operation_id, d.event_id, d.source, d.type,
         d.subject, d.datacontenttype, d.dataschema, d.partition_key, d.extensions, d.data
    FROM dead d
), waiting AS (
  INSERT INTO {{schema}}.outbox_retry (relay_group, lane, seq, event_id, partition_key, work_kind, attempts, requeue_epoch)
  SELECT d.relay_group, d.lane, d.seq, d.event_id, d.partition_key, 'parked', 0, d.requeue_epoch + 1 FROM dead d
), told AS (
  INSERT INTO {{schema}}.outbox_dead_letter_history
    (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason)
  SELECT d.id, d.seq, d.attempts, d.requeue_epoch, d.lane, d.relay_group, d.event_id, 'requeued', $3, $4 FROM dead d
)
SELECT d.id FROM dead d ORDER BY d.id
