-- How large the events at these places are. A payload that is stored apart is not read for it.
SELECT p.n, coalesce(octet_length(e.data), 0) + octet_length(e.extensions::text)
  FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY AS p (lane, seq, n)
  JOIN {{schema}}.event_outbox e ON e.lane = p.lane AND e.seq = p.seq
