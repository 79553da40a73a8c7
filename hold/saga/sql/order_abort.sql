SELECT coalesce(r.state, ''), r.changed FROM {{.Schema}}.saga_abort($1::uuid, $2, $3) r
