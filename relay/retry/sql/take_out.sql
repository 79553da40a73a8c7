-- The first half of a dead-lettering: the row leaves the waiting set, if the claim still holds.
DELETE FROM {{schema}}.outbox_retry r
 WHERE r.id = $1 AND r.attempts = $2 AND r.row_version = $3 AND r.lease_owner = $4 AND r.lease_token = $5
   AND r.lease_until = $6 AND r.lease_until > clock_timestamp()
RETURNING r.relay_group, r.lane, r.seq, r.requeue_epoch, coalesce(r.partition_key, '')
