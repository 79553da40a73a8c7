INSERT INTO fact_key (id, secret) VALUES ($1, $2)
