-- Race with another keeper: both write the row of the turn, and the second leaves it.
SELECT operation_id, generation, on_expiry, attempts, token
  FROM {{.Schema}}.hold_overdue(lease => $1::interval, only_cancel => $2::boolean, most => $3::integer)
