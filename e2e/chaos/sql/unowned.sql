-- How many lanes have no owner whose lease lasts.
SELECT count(*) FROM outbox.outbox_lane WHERE relay_group = 'default' AND (lease_until IS NULL OR lease_until <= clock_timestamp())
