UPDATE {{.Schema}}.saga_reconciler
   SET lease_token = $1, lease_until = clock_timestamp() + $2::interval
 WHERE one AND (lease_token = $1 OR lease_until IS NULL OR lease_until <= clock_timestamp())
