-- The payload of an event, from the log or from the copy of a dead letter.
SELECT e.data FROM {{schema}}.event_outbox e WHERE e.lane = $2 AND e.seq = $3
UNION ALL
SELECT d.data FROM {{schema}}.outbox_dead_letter d WHERE d.relay_group = $1 AND d.lane = $2 AND d.seq = $3
LIMIT 1
