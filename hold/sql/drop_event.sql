-- Race with a held write and with a decision: all of them lock the row of the generation.
SELECT {{.Schema}}.hold_drop_event(operation => $1::text, generation => $2::integer, event_id => $3::text,
                                   actor => $4::text, reason => $5::text, source => $6::text)
