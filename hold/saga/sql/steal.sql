-- The row is locked and its lease was found to be over. What was pinned stays.
UPDATE {{.Schema}}.saga_operation
   SET lease_holder = $3, lease_expires_at = clock_timestamp() + $4::interval
 WHERE operation_id = $1 AND generation = $2 AND state = 'in_progress' AND lease_expires_at <= clock_timestamp()
RETURNING generation, basis::text, participants
