-- Gives every group its new cursor. The ended lease has an owner, so whoever claims the lane
-- looks back in the stream.
UPDATE {{schema}}.outbox_lane l
   SET drained = g.drained::pg_snapshot, target = NULL, pos = NULL,
       lease_owner = 'relay rebase', lease_token = gen_random_uuid(), lease_until = clock_timestamp()
  FROM unnest($1::text[], $2::text[]) AS g (relay_group, drained)
 WHERE l.relay_group = g.relay_group
