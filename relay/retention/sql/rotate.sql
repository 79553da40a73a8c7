SELECT r.outcome, r.why, r.moved, r.bytes
  FROM {{schema}}.retention_rotate($1::text::uuid, $2, $3::interval, $4) AS r
