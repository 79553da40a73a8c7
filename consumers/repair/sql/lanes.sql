-- Keeps relays off until the commit: they claim with SKIP LOCKED, in this order.
SELECT FROM {{schema}}.outbox_lane AS l ORDER BY l.relay_group, l.lane FOR UPDATE
