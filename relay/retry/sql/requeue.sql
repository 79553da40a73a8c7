-- Moves dead letters back to the waiting set. The schema's function does it, so that an operator
-- needs no right on the tables.
SELECT id FROM {{schema}}.dead_letter_requeue($1::text, $2::bigint[], $3::text, $4::text) AS id
