-- Race with a held write and with release: all three lock the row of the generation.
-- Race with register, and with a cancel of a generation that is not there yet: they
-- lock the row of the operation.
SELECT state, max_generation, held, released, dropped, changed
  FROM {{.Schema}}.hold_cancel(operation => $1::text, generation => $2::integer, actor => $3::text,
                               reason => $4::text, action => $5::text)
