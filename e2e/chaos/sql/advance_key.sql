INSERT INTO chaos.key AS k (key, version) VALUES ($1, $2)
ON CONFLICT (key) DO UPDATE SET version = k.version + excluded.version
RETURNING k.version
