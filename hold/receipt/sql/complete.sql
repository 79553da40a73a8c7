-- Fills the id of the entity that the step made. No race: nobody else sees the receipt yet.
SELECT {{.Schema}}.receipt_complete(operation => $1::text, generation => $2::integer, step_key => $3::text, stable_id => $4::text)
