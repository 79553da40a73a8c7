UPDATE {{schema}}.outbox_maintenance m
   SET lease_owner = NULL, lease_token = NULL, lease_until = NULL
 WHERE m.lease_token = $1::text::uuid
