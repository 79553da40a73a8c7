-- Which of these entities a receipt covers, of any operation in any state, or the quarantine of
-- compensation, which outlives receipts. Nothing indexes receipts by entity, so they are read once for all
-- that is asked.
WITH asked AS MATERIALIZED (
  SELECT DISTINCT u.kind, u.id FROM unnest($1::text[], $2::text[]) AS u(kind, id)
)
SELECT a.kind, a.id FROM asked AS a JOIN {{.Schema}}.hold_receipt AS r ON r.entity_kind = a.kind AND r.stable_id = a.id
UNION
SELECT a.kind, a.id FROM asked AS a JOIN {{.Schema}}.hold_quarantine AS q ON q.entity_kind = a.kind AND q.stable_id = a.id
