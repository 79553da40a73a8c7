-- Events without a position.
SELECT e.lane, count(*) FROM {{schema}}.event_outbox e WHERE e.tx IS NULL GROUP BY e.lane
