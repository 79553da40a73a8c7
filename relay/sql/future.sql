-- Whether transaction ids are stored that this cluster has not given out yet. A committed row
-- is older than the snapshot that shows it, and so is a cursor that a committed settle stored, so
-- an id beyond this statement's own snapshot is one of another cluster. For ORDER BY see scout.sql.
SELECT EXISTS (SELECT FROM {{schema}}.outbox_lane l
                WHERE pg_snapshot_xmax(l.drained) > pg_snapshot_xmax(pg_current_snapshot())
                   OR pg_snapshot_xmax(l.target) > pg_snapshot_xmax(pg_current_snapshot()))
       OR EXISTS (SELECT FROM (SELECT DISTINCT l.lane FROM {{schema}}.outbox_lane l) AS l
                   WHERE (SELECT e.tx FROM {{schema}}.event_outbox e
                           WHERE e.lane = l.lane AND e.tx >= pg_snapshot_xmax(pg_current_snapshot())
                           ORDER BY e.tx LIMIT 1) IS NOT NULL)
