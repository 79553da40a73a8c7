-- The events with an id that the log has forgotten while something else remembers them: dead letters, which
-- have a copy; requeued ones that wait; and those of which only the history is left.
WITH places AS (
  SELECT d.lane, d.seq FROM {{dead}} d WHERE d.relay_group = $1 AND d.event_id = $2
  UNION
  SELECT r.lane, r.seq FROM {{schema}}.outbox_retry r WHERE r.relay_group = $1 AND r.event_id = $2
  UNION
  SELECT h.lane, h.seq FROM {{schema}}.outbox_dead_letter_history h WHERE h.relay_group = $1 AND h.event_id = $2
)
SELECT p.lane, p.seq, -1::smallint, $2::text, coalesce(d.source, ''), coalesce(d.type, ''), coalesce(d.subject, ''), d."time",
       coalesce(d.datacontenttype, ''), coalesce(d.dataschema, ''), coalesce(d.partition_key, r.partition_key, ''),
       coalesce(d.extensions, '{}'), coalesce(d.data_bytes, 0), coalesce(d.hold_operation_id::text, ''), coalesce(d.hold_generation, 0),
       d.staged_at,
       CASE WHEN d.seq IS NOT NULL THEN 'dead'
            WHEN r.seq IS NOT NULL THEN 'waiting'
            WHEN (SELECT h.action FROM {{schema}}.outbox_dead_letter_history h
                   WHERE h.relay_group = $1 AND h.lane = p.lane AND h.seq = p.seq ORDER BY h.id DESC LIMIT 1) = 'discarded' THEN 'discarded'
            ELSE 'published' END
  FROM places p
  LEFT JOIN {{dead}} d ON d.relay_group = $1 AND d.lane = p.lane AND d.seq = p.seq
  LEFT JOIN {{schema}}.outbox_retry r ON r.relay_group = $1 AND r.lane = p.lane AND r.seq = p.seq
 WHERE NOT EXISTS (SELECT FROM {{log}} e WHERE e.lane = p.lane AND e.seq = p.seq)
 ORDER BY p.seq
