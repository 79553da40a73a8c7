-- The claim of an owner on a lane, while its lease lives.
SELECT l.lease_token::text FROM {{schema}}.outbox_lane l
 WHERE l.relay_group = $1 AND l.lane = $2 AND l.lease_owner = $3 AND l.lease_until > clock_timestamp()
