-- Runs in a statement after the one that took the lock: it sees what the lock waited for.
SELECT CASE
  WHEN EXISTS (SELECT FROM fact f
                WHERE f.entity_id = $1 AND (f.operation_id, f.generation) IS DISTINCT FROM ($2, $3))
    THEN 'it was corrected by something else'
  WHEN EXISTS (SELECT FROM entity e
                WHERE (e.household_id = $1 OR e.person_id = $1) AND e.active
                  AND (e.operation_id, e.generation) IS DISTINCT FROM ($2, $3))
    THEN 'it belongs to something else as well'
  ELSE '' END
