-- The audit of several deliveries, as received.sql is of one. A lost row is
-- healed here, and deliveries at once wait for each other, in one order.
INSERT INTO {{schema}}.consumer_inbox AS i (consumer, event_source, event_id, processed_at, deliveries)
SELECT $1, e.source, e.id, clock_timestamp(), count(*)
  FROM unnest($2::text[], $3::text[]) AS e (source, id)
 GROUP BY e.source, e.id
 ORDER BY e.source, e.id
ON CONFLICT ON CONSTRAINT consumer_inbox_pkey DO UPDATE
   SET deliveries = i.deliveries + excluded.deliveries, processed_at = coalesce(i.processed_at, clock_timestamp())
