-- One row per lane: who drains it, and what it still has to publish, counted up to $2.
SELECT l.lane, coalesce(l.lease_owner, ''), coalesce(l.lease_until > clock_timestamp(), false),
       l.target IS NOT NULL, b.events, coalesce(extract(epoch FROM clock_timestamp() - b.oldest), 0)::float8, l.stream_seq,
       l.lease_until, l.drained::text, coalesce(l.target::text, ''), coalesce(l.pos, 0)
  FROM {{schema}}.outbox_lane l
  CROSS JOIN LATERAL (
    SELECT count(*) AS events, min(c.staged_at) AS oldest
      FROM (
        (SELECT e.staged_at FROM {{schema}}.event_outbox e
          WHERE e.lane = l.lane AND e.tx >= pg_snapshot_xmax(l.drained)
            AND (l.target IS NULL OR e.seq > l.pos OR NOT pg_visible_in_snapshot(e.tx, l.target))
          ORDER BY e.tx LIMIT $2)
        UNION ALL
        (SELECT o.staged_at
           FROM pg_snapshot_xip(l.drained) AS x (tx)
          CROSS JOIN LATERAL (
            SELECT e.staged_at FROM {{schema}}.event_outbox e
             WHERE e.lane = l.lane AND e.tx BETWEEN x.tx AND x.tx
               AND (l.target IS NULL OR e.seq > l.pos OR NOT pg_visible_in_snapshot(e.tx, l.target))
             ORDER BY e.tx LIMIT $2
          ) AS o
          LIMIT $2)
        LIMIT $2
      ) AS c
  ) AS b
 WHERE l.relay_group = $1
 ORDER BY l.lane
