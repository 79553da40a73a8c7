-- Passes the gate, then claims the step. A race for one step is decided by the insert of
-- the receipt: the second one waits for the first one's commit and reads its answer.
SELECT outcome, stable_id
  FROM {{schema}}.receipt_begin(operation => $1, generation => $2, step_key => $3, entity_kind => $4, body_digest => $5)
