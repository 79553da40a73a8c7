SELECT p.batches, p.history, p.audit
  FROM {{schema}}.retention_prune($1::text::uuid, $2::interval, $3::interval, $4) AS p
