-- Owner anti-join: households of the application flow that no application names. A household that a
-- receipt covers may belong to an operation that is alive. Ids only.
SELECT h.id FROM entity h
 WHERE h.kind = 'household' AND h.active AND h.operation_id IS NOT NULL AND h.id <> ALL ($1)
   AND NOT EXISTS (SELECT FROM outbox.hold_receipt r WHERE r.entity_kind = 'household' AND r.stable_id = h.id::text)
 ORDER BY h.id
