-- Households that no application names, with their memberships and the persons who are in no other one. $1 is one
-- household, or null for all. The mark is that of the application flow, on the entity and on all that is known about it. Of
-- what nothing is known the age is unknown: it counts as young. A person in two such households goes with the one that is
-- undone last: its candidate has changed by then, so the next plan has it.
SELECT h.id::text AS id,
       e.operation_id IS NOT NULL AND NOT EXISTS (SELECT FROM fact f WHERE f.entity_id = e.id AND f.operation_id IS NULL) AS marked,
       coalesce((SELECT max(f.recorded_at) FROM fact f WHERE f.entity_id = e.id), clock_timestamp()) AS made_at, e.kind AS entity_kind, e.id::text AS entity_id
  FROM entity h
  JOIN entity e ON e.id = h.id OR e.household_id = h.id
    OR e.id IN (SELECT m.person_id FROM entity m WHERE m.household_id = h.id)
       AND NOT EXISTS (SELECT FROM entity m WHERE m.person_id = e.id AND m.household_id <> h.id AND m.active)
 WHERE h.kind = 'household' AND h.active AND NOT EXISTS (SELECT FROM owned_household o WHERE o.id = h.id)
   AND ($1::text IS NULL OR h.id = $1::text::uuid)
