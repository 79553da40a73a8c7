INSERT INTO chaos.decision (operation, generation, released) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
