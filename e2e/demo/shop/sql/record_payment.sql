INSERT INTO payments.history (payment_id, version, event_id, event_type, payload_sha256, operation_id, generation)
VALUES ($1, $2, $3, $4, $5, $6, $7)
