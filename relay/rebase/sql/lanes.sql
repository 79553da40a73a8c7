-- The lanes of every group, and who may own them.
SELECT l.relay_group, l.lane, l.target IS NOT NULL, coalesce(l.lease_owner, ''), l.lease_until,
       coalesce(l.lease_until > clock_timestamp(), false)
  FROM {{schema}}.outbox_lane l
 ORDER BY l.relay_group COLLATE "C", l.lane
