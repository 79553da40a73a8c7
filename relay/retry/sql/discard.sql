-- Removes dead letters for good, by the schema's function.
SELECT id FROM {{schema}}.dead_letter_discard($1::text, $2::bigint[], $3::text, $4::text) AS id
