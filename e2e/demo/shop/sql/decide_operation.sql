UPDATE checkout.operations SET state = $3 WHERE operation_id = $1 AND generation = $2
