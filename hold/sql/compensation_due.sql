-- Race with another keeper: both write the row of the turn, and the second leaves it.
SELECT operation_id, generation, '' AS on_expiry, attempts, token
  FROM {{.Schema}}.compensation_due(lease => $1::interval, most => $2::integer)
