-- The next page of a backlog, in seq order through the primary key.
SELECT $3::text, e.seq,
       e.event_id, e.source, e.type, coalesce(e.subject, ''), e."time", coalesce(e.datacontenttype, ''),
       coalesce(e.dataschema, ''), coalesce(e.partition_key, ''), e.extensions, e.data, e.staged_at
  FROM {{schema}}.event_outbox e
 WHERE e.lane = $1
   AND e.seq > $4
   AND e.tx IS NOT NULL
   AND pg_visible_in_snapshot(e.tx, $3::text::pg_snapshot)
   AND NOT pg_visible_in_snapshot(e.tx, $2::text::pg_snapshot)
 ORDER BY e.seq
 LIMIT $5
