-- Locks nothing: the answer may be old when it arrives, unless it is a terminal state.
SELECT state, max_generation, held, released, dropped, changed,
       principal, registered_at, decided_at, decided_by, reason, expires_at, on_expiry
  FROM {{.Schema}}.hold_state(operation => $1::text, generation => $2::integer)
