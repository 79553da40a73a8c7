-- The second half: the event enters the dead letters with a copy of its own, from the log or
-- from what a requeue kept. No row means that neither has it.
WITH event AS (
  SELECT e.seq, e.staged_at, e."time", e.hold_generation, e.lane, e.hold_operation_id, e.event_id, e.source, e.type,
         e.subject, e.datacontenttype, e.dataschema, e.partition_key, e.extensions, e.data
    FROM {{schema}}.outbox_requeued e
   WHERE e.relay_group = $1 AND e.lane = $2 AND e.seq = $3
  UNION ALL
  SELECT e.seq, e.staged_at, e."time", e.hold_generation, e.lane, e.hold_operation_id, e.event_id, e.source, e.type,
         e.subject, e.datacontenttype, e.dataschema, e.partition_key, e.extensions, e.data
    FROM {{schema}}.event_outbox e
   WHERE e.lane = $2 AND e.seq = $3
   LIMIT 1
), dead AS (
  INSERT INTO {{schema}}.outbox_dead_letter
    (relay_group, attempts, requeue_epoch, reason_code, reason_detail_sha256,
     seq, staged_at, "time", hold_generation, lane, hold_operation_id, event_id, source, type,
     subject, datacontenttype, dataschema, partition_key, extensions, data)
  SELECT $1, $4, $5, $6, $7,
         e.seq, e.staged_at, e."time", e.hold_generation, e.lane, e.hold_operation_id, e.event_id, e.source, e.type,
         e.subject, e.datacontenttype, e.dataschema, e.partition_key, e.extensions, e.data
    FROM event e
  RETURNING id, event_id
), told AS (
  INSERT INTO {{schema}}.outbox_dead_letter_history
    (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason)
  SELECT d.id, $3, $4, $5, $2, $1, d.event_id, 'dead-lettered', $8, $6 FROM dead d
)
SELECT d.id FROM dead d
