-- What each cursor will drain now.
SELECT l.relay_group, l.lane, count(e.seq)
  FROM {{schema}}.outbox_lane l
  LEFT JOIN {{schema}}.event_outbox e ON e.lane = l.lane AND NOT pg_visible_in_snapshot(e.tx, l.drained)
 GROUP BY l.relay_group, l.lane
