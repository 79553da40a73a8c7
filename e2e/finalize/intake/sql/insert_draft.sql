INSERT INTO draft (id, expires_at) VALUES ($1, clock_timestamp() + $2::interval)
