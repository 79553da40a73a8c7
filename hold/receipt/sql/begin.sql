-- Passes the gate, then claims the step. A race for one step is decided by the insert of
-- the receipt: the second one waits for the first one's commit and reads its answer.
SELECT outcome, coalesce(stable_id, '') AS stable_id
  FROM {{.Schema}}.receipt_begin(operation => $1::text, generation => $2::integer, step_key => $3::text,
                                 entity_kind => $4::text, body_digest => $5::text)
