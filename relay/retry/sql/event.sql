-- A waiting event, from what a requeue kept or from the log.
SELECT e.event_id, e.source, e.type, coalesce(e.subject, ''), e."time", coalesce(e.datacontenttype, ''),
       coalesce(e.dataschema, ''), coalesce(e.partition_key, ''), e.extensions, e.data
  FROM (
    SELECT q.event_id, q.source, q.type, q.subject, q."time", q.datacontenttype, q.dataschema, q.partition_key, q.extensions, q.data
      FROM {{schema}}.outbox_requeued q
     WHERE q.relay_group = $1 AND q.lane = $2 AND q.seq = $3
    UNION ALL
    SELECT o.event_id, o.source, o.type, o.subject, o."time", o.datacontenttype, o.dataschema, o.partition_key, o.extensions, o.data
      FROM {{schema}}.event_outbox o
     WHERE o.lane = $2 AND o.seq = $3
    LIMIT 1
  ) AS e
