-- Every event with a position, and for which relay groups it is drained. The statements that
-- begin with this go on with a comma or with SELECT.
WITH present AS MATERIALIZED (
  SELECT s.next, s.next - s.next % 4294967296 AS epoch
    FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next) AS s
), lanes AS MATERIALIZED (
  SELECT l.relay_group, l.lane, l.drained, l.target, l.pos, w.writer
    FROM {{schema}}.outbox_lane l
   CROSS JOIN present p
   CROSS JOIN LATERAL (SELECT p.epoch + l.xmin::text::bigint AS id) AS x
   CROSS JOIN LATERAL (SELECT x.id - CASE WHEN x.id >= p.next THEN 4294967296 ELSE 0 END AS writer) AS w
), log AS MATERIALIZED (
  -- The writer is the transaction of this cluster that wrote the row, or its savepoint: xmin
  -- with the epoch that it lacks.
  SELECT e.slot, e.lane, e.seq, e.tx, e.tx::text::bigint AS id, e.staged_at, w.writer
    FROM {{schema}}.event_outbox e
   CROSS JOIN present p
   CROSS JOIN LATERAL (SELECT p.epoch + e.xmin::text::bigint AS id) AS x
   CROSS JOIN LATERAL (SELECT x.id - CASE WHEN x.id >= p.next THEN 4294967296 ELSE 0 END AS writer) AS w
   WHERE e.tx IS NOT NULL
), moved AS MATERIALIZED (
  -- A snapshot is older than the transaction that stores it. A lane that was written by one
  -- that its snapshot calls finished was written in another cluster before, and the ids of
  -- this one are lower. first is the first that wrote anything of ours here.
  SELECT coalesce(bool_or(l.writer < pg_snapshot_xmax(l.drained)::text::bigint
                          OR l.writer < pg_snapshot_xmax(l.target)::text::bigint), false) AS lower,
         least(min(l.writer), (SELECT min(g.writer) FROM log g)) AS first
    FROM lanes l
), copies AS MATERIALIZED (
  -- A writer of the rows of several transactions copied them.
  SELECT g.writer FROM log g GROUP BY g.writer HAVING min(g.id) < max(g.id)
), judged AS MATERIALIZED (
  SELECT g.slot, g.lane, g.seq, g.tx, g.staged_at, h.here,
         m.lower AND h.here AND s.groups IS NOT NULL AS kept,
         m.lower AND h.here AND s.groups IS NOT NULL AND g.id < g.writer AS uncertain,
         CASE WHEN m.lower AND h.here THEN NULL ELSE s.groups END AS groups
    FROM log g
   CROSS JOIN moved m
    LEFT JOIN copies c ON c.writer = g.writer
   CROSS JOIN LATERAL (SELECT c.writer IS NULL AND g.id BETWEEN m.first AND g.writer AS here) AS h
   CROSS JOIN LATERAL (
     SELECT array_agg(l.relay_group ORDER BY l.relay_group COLLATE "C") AS groups
       FROM lanes l
      WHERE l.lane = g.lane
        AND (pg_visible_in_snapshot(g.tx, l.drained)
             OR l.target IS NOT NULL AND g.seq <= l.pos AND pg_visible_in_snapshot(g.tx, l.target))
   ) AS s
)
