-- The last fact counts.
SELECT e.kind, e.household_id, e.person_id, e.active, f.number, k.id, k.secret, f.sealed
  FROM entity e
  JOIN LATERAL (SELECT * FROM fact l WHERE l.entity_id = e.id ORDER BY l.number DESC LIMIT 1) f ON true
  JOIN fact_key k ON k.id = f.key_id
 WHERE e.id = $1
