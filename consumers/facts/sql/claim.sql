-- The arbiter between deliveries. A concurrent claim of the same fact makes this wait until it
-- commits, and then return no row, or until it rolls back, and then insert. The attributes come as
-- text, which every protocol mode of pgx can send.
INSERT INTO {{schema}}.consumer_fact (source, account_id, fact_type, fact_key, attributes, event_source, event_id)
VALUES ($1, $2, $3, $4, $5::text::jsonb, $6, $7)
ON CONFLICT ON CONSTRAINT consumer_fact_identity DO NOTHING
RETURNING id
