-- Counts an attempt. What failed is not processed, whatever an earlier delivery was: an inbox
-- row without an effect says so from now on, and counts from one.
INSERT INTO {{schema}}.consumer_inbox AS i (consumer, event_source, event_id)
VALUES ($1, $2, $3)
ON CONFLICT ON CONSTRAINT consumer_inbox_pkey DO UPDATE
   SET deliveries = CASE WHEN i.processed_at IS NULL THEN i.deliveries + 1 ELSE 1 END, processed_at = NULL
RETURNING deliveries
