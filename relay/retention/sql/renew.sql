UPDATE {{schema}}.outbox_maintenance m
   SET lease_until = clock_timestamp() + $2::interval
 WHERE m.lease_token = $1::text::uuid AND m.lease_until > clock_timestamp()
