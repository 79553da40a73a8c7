-- Gives lanes back. A lane without an owner was left clean: nothing of it is in flight.
UPDATE {{schema}}.outbox_lane l
   SET lease_owner = NULL, lease_token = NULL, lease_until = NULL
  FROM unnest($2::smallint[], $3::text[]::uuid[]) AS m (lane, token)
 WHERE l.relay_group = $1 AND l.lane = m.lane AND l.lease_token = m.token
