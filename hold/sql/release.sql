-- Race with a held write and with cancel: all three lock the row of the generation.
SELECT state, max_generation, held, released, dropped, changed
  FROM {{.Schema}}.hold_release(operation => $1::text, generation => $2::integer, actor => $3::text, reason => $4::text)
