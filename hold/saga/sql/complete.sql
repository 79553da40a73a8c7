-- The token proves that nobody took over, so a lease that is over may still commit. The
-- reconciler leaves the release to the holder for a while.
UPDATE {{.Schema}}.saga_operation
   SET state = 'completed', result = $4::text::jsonb, lease_holder = NULL, lease_expires_at = NULL,
       attempts = 0, next_attempt_at = clock_timestamp() + $5::interval, updated_at = clock_timestamp()
 WHERE operation_id = $1 AND generation = $2 AND lease_holder = $3 AND state = 'in_progress'
RETURNING result::text
