-- What waits longest for its next state stands first.
SELECT operation_id, generation, kind, state, events_released, participants, attempts, created_at, updated_at,
       next_attempt_at, lease_expires_at, coalesce(lease_expires_at > clock_timestamp(), false), digest_key_id
  FROM {{.Schema}}.saga_operation
 WHERE ($1::uuid IS NULL OR operation_id = $1)
   AND (cardinality($2::text[]) = 0 OR state = ANY ($2))
   AND (NOT $3 OR state = 'completed' AND NOT events_released)
   AND ($4 = '' OR kind = $4)
 ORDER BY updated_at, operation_id
 LIMIT $5
