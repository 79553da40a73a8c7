-- Opens a generation, or answers with the state that it already has. The casts tell the
-- server the types in every protocol mode.
SELECT state, max_generation, held, released, dropped, changed
  FROM {{.Schema}}.hold_register(operation => $1::text, generation => $2::integer, actor => $3::text,
                                 expires_at => $4::text, on_expiry => $5::text)
