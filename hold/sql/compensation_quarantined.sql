-- Quarantine is terminal, so a row that was read stays true.
SELECT step_key, entity_kind, stable_id, reason, quarantined_at
  FROM {{.Schema}}.compensation_quarantined(operation => $1::text, generation => $2::integer)
