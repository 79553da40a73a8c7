-- Race with another compensation of the step: both lock its receipt, and the second gets an outcome.
SELECT entity_kind, stable_id, created_at, coalesce(outcome, '')
  FROM {{.Schema}}.compensation_begin(operation => $1::text, generation => $2::integer, step_key => $3::text)
