-- Every event of the log. Expected in the stream is what is settled for the group, entered the log
-- in the window ($2, $3), does not wait for a retry, and is no dead letter nor was one that was discarded.
WITH ends AS (
  SELECT DISTINCT ON (h.lane, h.seq) h.lane, h.seq, h.action
    FROM {{schema}}.outbox_dead_letter_history h
   WHERE h.relay_group = $1
   ORDER BY h.lane, h.seq, h.id DESC
)
SELECT e.lane, e.seq, e.tx IS NULL,
       x.expected,
       e.event_id, e.source, e.type, coalesce(e.subject, ''), e."time", coalesce(e.datacontenttype, ''),
       coalesce(e.dataschema, ''), coalesce(e.partition_key, ''), e.extensions,
       CASE WHEN x.expected THEN sha256(coalesce(e.data, '')) END
  FROM {{schema}}.event_outbox e
  LEFT JOIN {{schema}}.outbox_lane l ON l.relay_group = $1 AND l.lane = e.lane
  LEFT JOIN {{schema}}.outbox_retry r ON r.relay_group = $1 AND r.lane = e.lane AND r.seq = e.seq
  LEFT JOIN {{schema}}.outbox_dead_letter d ON d.relay_group = $1 AND d.lane = e.lane AND d.seq = e.seq
  LEFT JOIN ends f ON f.lane = e.lane AND f.seq = e.seq AND f.action = 'discarded'
 CROSS JOIN LATERAL (
   SELECT e.tx IS NOT NULL AND e.seq >= $2 AND e.seq < $3 AND r.seq IS NULL AND d.seq IS NULL AND f.seq IS NULL
          AND coalesce(pg_visible_in_snapshot(e.tx, l.drained)
                       OR l.target IS NOT NULL AND e.seq <= l.pos AND pg_visible_in_snapshot(e.tx, l.target), false) AS expected
 ) AS x
