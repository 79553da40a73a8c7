-- Where paging begins: the snapshot that becomes the target, and the smallest candidate in
-- it. OFFSET 0 keeps the order that demands the index, see scout.sql.
SELECT pg_current_snapshot()::text, min(c.seq)
  FROM (
    (SELECT e.seq FROM {{schema}}.event_outbox e
      WHERE e.lane = $1 AND e.tx >= pg_snapshot_xmax($2::text::pg_snapshot)
      ORDER BY e.tx OFFSET 0)
    UNION ALL
    (SELECT o.seq
       FROM pg_snapshot_xip($2::text::pg_snapshot) AS x (tx)
      CROSS JOIN LATERAL (
        SELECT e.seq FROM {{schema}}.event_outbox e
         WHERE e.lane = $1 AND e.tx BETWEEN x.tx AND x.tx
         ORDER BY e.tx OFFSET 0
      ) AS o)
  ) AS c
