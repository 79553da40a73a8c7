-- The ids of the events at these places.
SELECT p.n, e.source, e.event_id
  FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY AS p (lane, seq, n)
  JOIN {{schema}}.event_outbox e ON e.lane = p.lane AND e.seq = p.seq
