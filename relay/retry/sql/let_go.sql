-- Gives a claim back without an outcome: the broker was not there, so nothing is counted.
UPDATE {{schema}}.outbox_retry r
   SET next_visible_at = clock_timestamp() + $7::interval,
       lease_owner = NULL, lease_token = NULL, lease_until = NULL, updated_at = clock_timestamp()
 WHERE r.id = $1 AND r.attempts = $2 AND r.row_version = $3 AND r.lease_owner = $4 AND r.lease_token = $5
   AND r.lease_until = $6 AND r.lease_until > clock_timestamp()
