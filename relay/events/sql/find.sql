-- The events of the log with an id, oldest first. There is no index on ids.
SELECT {{columns}}, {{state}} AS state
  FROM {{log}} e
  LEFT JOIN {{schema}}.outbox_lane l ON l.relay_group = $1 AND l.lane = e.lane
 WHERE e.event_id = $2
 ORDER BY e.seq
