-- The events at these places, in the order of the places. A held event has none.
SELECT e.lane, e.seq,
       e.event_id, e.source, e.type, coalesce(e.subject, ''), e."time", coalesce(e.datacontenttype, ''),
       coalesce(e.dataschema, ''), coalesce(e.partition_key, ''), e.extensions, e.data
  FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY AS p (lane, seq, n)
  JOIN {{schema}}.event_outbox e ON e.lane = p.lane AND e.seq = p.seq AND e.tx IS NOT NULL
 ORDER BY p.n
