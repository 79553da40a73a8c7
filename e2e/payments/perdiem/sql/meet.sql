-- Locks the row of the placement, and says whether it has ended.
INSERT INTO perdiem.placement AS p (placement, start, ended)
VALUES ($1, $2, $3)
ON CONFLICT ON CONSTRAINT placement_pkey DO UPDATE SET ended = p.ended OR EXCLUDED.ended
RETURNING p.ended
