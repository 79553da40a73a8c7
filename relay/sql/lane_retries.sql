-- Per lane the events that wait for a retry: refused ones that are to be tried again, those parked
-- behind them, each counted up to $2, and when the first is due.
SELECT l.lane, w.scheduled, w.parked, w.due
  FROM {{schema}}.outbox_lane l
 CROSS JOIN LATERAL (
   SELECT count(*) FILTER (WHERE r.work_kind <> 'parked') AS scheduled, count(*) FILTER (WHERE r.work_kind = 'parked') AS parked,
          min(r.next_visible_at) FILTER (WHERE r.next_visible_at < 'infinity') AS due
     FROM (SELECT c.work_kind, c.next_visible_at FROM {{schema}}.outbox_retry c
            WHERE c.relay_group = l.relay_group AND c.lane = l.lane LIMIT $2) AS r
 ) AS w
 WHERE l.relay_group = $1
 ORDER BY l.lane
