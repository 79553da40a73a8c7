-- Events without a position: how many, counted up to $1, and since when the oldest of these waits;
-- and what the time is, by the clock that all ages go by.
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(h.staged_at)), 0)::float8, clock_timestamp()
  FROM (SELECT e.staged_at FROM {{schema}}.event_outbox e WHERE e.tx IS NULL LIMIT $1) AS h
