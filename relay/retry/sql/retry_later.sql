-- The event was refused and is tried again later. The whole claim is proven here; clearing the
-- lease means that an old token can match nothing.
UPDATE {{schema}}.outbox_retry r
   SET work_kind = 'retry_scheduled', attempts = $7, next_visible_at = clock_timestamp() + $8::interval,
       reason_code = $9, reason_detail_sha256 = $10,
       lease_owner = NULL, lease_token = NULL, lease_until = NULL, updated_at = clock_timestamp()
 WHERE r.id = $1 AND r.attempts = $2 AND r.row_version = $3 AND r.lease_owner = $4 AND r.lease_token = $5
   AND r.lease_until = $6 AND r.lease_until > clock_timestamp()
RETURNING r.next_visible_at
