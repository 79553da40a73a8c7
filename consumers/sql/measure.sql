-- What waits for a person, each counted up to 100,000, and for how long the first has waited.
SELECT (SELECT count(*) FROM (SELECT FROM {{schema}}.consumer_quarantine AS q
                               WHERE q.state = 'open' AND q.consumer = $1 LIMIT 100000) AS open),
       (SELECT count(*) FROM (SELECT FROM {{schema}}.consumer_dead_letter AS d
                               WHERE d.consumer = $1 AND d.state = 'dead' LIMIT 100000) AS dead),
       coalesce(extract(epoch FROM clock_timestamp() - (SELECT min(d.dead_at) FROM {{schema}}.consumer_dead_letter AS d
                               WHERE d.consumer = $1 AND d.state = 'dead')), 0)::float8
