-- What a window has of the events that the filters choose: settled ones, and those that are not
-- replayed because they are held or still on their way.
SELECT count(*) FILTER (WHERE s.ready), coalesce(sum(s.size) FILTER (WHERE s.ready), 0)::bigint,
       count(*) FILTER (WHERE s.tx IS NULL), count(*) FILTER (WHERE NOT s.ready AND s.tx IS NOT NULL),
       min(s.staged_at) FILTER (WHERE s.ready), max(s.staged_at) FILTER (WHERE s.ready),
       coalesce(max(s.seq) FILTER (WHERE s.ready), 0)
  FROM (
    SELECT e.seq, e.tx, e.staged_at, coalesce(octet_length(e.data), 0) AS size, {{ready}} AS ready
      FROM {{schema}}.event_outbox e
      LEFT JOIN {{schema}}.outbox_lane l ON l.relay_group = $1 AND l.lane = e.lane
     WHERE e.seq >= $2 AND e.seq < $3 AND e.seq > $4
       AND ($5::text IS NULL OR e.type = $5) AND ($6::text IS NULL OR e.partition_key = $6)
  ) AS s
