-- Counts up to $1 held events, and locks nothing.
SELECT held_active, held_overdue, held_superseded, oldest_held, active, overdue, oldest_overdue, uncompensated, quarantined
  FROM {{.Schema}}.hold_measure(most => $1::integer)
