-- The ids of what a lane has not settled, from a cursor: drained, and target with pos while a
-- backlog is paged. For ORDER BY, OFFSET and BETWEEN see backlog.sql and scout.sql.
SELECT c.source, c.event_id
  FROM (
    (SELECT e.source, e.event_id, e.tx, e.seq FROM {{schema}}.event_outbox e
      WHERE e.lane = $1 AND e.tx >= pg_snapshot_xmax($2::text::pg_snapshot)
      ORDER BY e.tx OFFSET 0)
    UNION ALL
    (SELECT o.source, o.event_id, o.tx, o.seq
       FROM pg_snapshot_xip($2::text::pg_snapshot) AS x (tx)
      CROSS JOIN LATERAL (
        SELECT e.source, e.event_id, e.tx, e.seq FROM {{schema}}.event_outbox e
         WHERE e.lane = $1 AND e.tx BETWEEN x.tx AND x.tx
         ORDER BY e.tx OFFSET 0
      ) AS o)
  ) AS c
 WHERE $3::text IS NULL OR c.seq > $4 OR NOT pg_visible_in_snapshot(c.tx, $3::text::pg_snapshot)
