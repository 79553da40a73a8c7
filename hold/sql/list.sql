-- One page, in the order of operations and generations. Ages are by the clock of the database.
SELECT operation_id, generation, state, max_generation, held, released, dropped,
       principal, registered_at, decided_at, decided_by, reason, expires_at, on_expiry,
       receipts, quarantined, attempts, compensated_at, age, overdue
  FROM {{.Schema}}.hold_list(operation => $1::text, only_state => $2::text, only_overdue => $3::boolean,
                             after_operation => $4::text, after_generation => $5::integer, most => $6::integer)
