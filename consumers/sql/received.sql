-- The audit of a delivery. It authorises nothing: the effect was proven before. A lost row is
-- healed here, and deliveries at once wait for each other.
INSERT INTO {{schema}}.consumer_inbox AS i (consumer, event_source, event_id, processed_at)
VALUES ($1, $2, $3, clock_timestamp())
ON CONFLICT ON CONSTRAINT consumer_inbox_pkey DO UPDATE
   SET deliveries = i.deliveries + 1, processed_at = coalesce(i.processed_at, clock_timestamp())
