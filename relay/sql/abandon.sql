-- Ends leases at once, so that the next claim need not wait for them. The owner stays
-- named: what these lanes had in flight may not have been settled. A lease that has ended
-- keeps its end: others judge by it when the lane was last owned.
UPDATE {{schema}}.outbox_lane l
   SET lease_until = least(l.lease_until, clock_timestamp())
  FROM unnest($2::smallint[], $3::text[]::uuid[]) AS m (lane, token)
 WHERE l.relay_group = $1 AND l.lane = m.lane AND l.lease_token = m.token
