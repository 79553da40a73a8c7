-- What the log holds: its rows as the planner estimates them (a row of 512 bytes where it knows
-- nothing yet), its bytes, and the age of the oldest position. Nothing is counted.
SELECT coalesce(sum(s.rows), 0)::bigint, coalesce(sum(s.bytes), 0)::bigint,
       coalesce((SELECT extract(epoch FROM clock_timestamp() - min(f.staged_at))
                   FROM {{schema}}.outbox_lane l
                  CROSS JOIN LATERAL (
                    SELECT e.staged_at FROM {{schema}}.event_outbox e
                     WHERE e.lane = l.lane AND e.tx IS NOT NULL
                     ORDER BY e.tx LIMIT 1
                  ) AS f
                  WHERE l.relay_group = $1), 0)::float8
  FROM (
    SELECT CASE WHEN c.relpages > 0 AND c.reltuples >= 0
                THEN c.reltuples / c.relpages * (pg_relation_size(c.oid) / current_setting('block_size')::int)
                ELSE pg_relation_size(c.oid) / 512 END AS rows,
           pg_total_relation_size(c.oid) AS bytes
      FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = '{{schema}}.event_outbox'::regclass
  ) AS s
