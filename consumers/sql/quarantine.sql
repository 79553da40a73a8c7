-- One row for each event and fact, however often it is delivered. The difference comes as text, which
-- every protocol mode of pgx can send.
INSERT INTO {{schema}}.consumer_quarantine (fact_id, consumer, event_source, event_id, event_type, reason, difference)
VALUES ($1, $2, $3, $4, $5, 'attribute_mismatch', $6::text::jsonb)
ON CONFLICT ON CONSTRAINT consumer_quarantine_event DO UPDATE SET seen_at = clock_timestamp()
RETURNING state
