-- Fills the id of the entity that the step made. No race: the receipt is not committed yet.
SELECT {{schema}}.receipt_complete(operation => $1, generation => $2, step_key => $3, stable_id => $4)
