-- The latest version wins, in whatever order they come.
INSERT INTO perdiem.rate AS r (region, version, cents)
VALUES ($1, $2, $3)
ON CONFLICT ON CONSTRAINT rate_pkey DO UPDATE SET version = EXCLUDED.version, cents = EXCLUDED.cents
 WHERE r.version < EXCLUDED.version
