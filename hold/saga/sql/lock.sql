-- The second lock of a claim, after the subject's. What is read is the row as it is under the lock.
SELECT state, generation, kind, digest_key_id, request_digest, basis::text, result::text, participants,
       coalesce(lease_expires_at <= clock_timestamp(), true), lease_expires_at - clock_timestamp()
  FROM {{.Schema}}.saga_operation
 WHERE operation_id = $1
   FOR UPDATE
