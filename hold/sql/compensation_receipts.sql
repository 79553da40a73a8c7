-- One page of the steps that are not undone. Read after the generation was marked cancelled,
-- which waited for every write, so nothing can be added behind it.
SELECT step_key
  FROM {{.Schema}}.compensation_receipts(operation => $1::text, generation => $2::integer, after_step => $3::text, most => $4::integer)
