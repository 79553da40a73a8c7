-- What looks due. It is judged again, under its lock, when it is claimed.
SELECT operation_id, generation
  FROM {{.Schema}}.saga_operation
 WHERE kind = ANY ($1)
   AND (state = 'in_progress' AND lease_expires_at <= statement_timestamp() - $2::interval
     OR state = 'compensating' AND next_attempt_at <= statement_timestamp()
        AND (lease_expires_at IS NULL OR lease_expires_at <= statement_timestamp()))
 ORDER BY next_attempt_at, operation_id
 LIMIT $3
