-- Up to $3 candidates of a lane, and the snapshot that shows them. The two branches
-- cannot overlap: every xip is below xmax. For ORDER BY and BETWEEN see scout.sql.
SELECT pg_current_snapshot()::text, c.seq,
       c.event_id, c.source, c.type, coalesce(c.subject, ''), c."time", coalesce(c.datacontenttype, ''),
       coalesce(c.dataschema, ''), coalesce(c.partition_key, ''), c.extensions, c.data, c.staged_at
  FROM (
    (SELECT * FROM {{schema}}.event_outbox e
      WHERE e.lane = $1 AND e.tx >= pg_snapshot_xmax($2::text::pg_snapshot)
      ORDER BY e.tx LIMIT $3)
    UNION ALL
    (SELECT o.*
       FROM pg_snapshot_xip($2::text::pg_snapshot) AS x (tx)
      CROSS JOIN LATERAL (
        SELECT * FROM {{schema}}.event_outbox e
         WHERE e.lane = $1 AND e.tx BETWEEN x.tx AND x.tx
         ORDER BY e.tx LIMIT $3
      ) AS o
      LIMIT $3)
  ) AS c
 LIMIT $3
