INSERT INTO consumed.effect (fact_id, key, version, digest) VALUES ($1, $2, $3, $4)
