-- Only the holder ends its lease: that of a successor has another token.
UPDATE {{.Schema}}.saga_operation
   SET lease_expires_at = clock_timestamp()
 WHERE operation_id = $1 AND generation = $2 AND lease_holder = $3
   AND state = 'in_progress' AND lease_expires_at > clock_timestamp()
