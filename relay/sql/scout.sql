-- Which of these lanes have candidates, and in which snapshot that was true. One
-- statement, so one snapshot: a lane that is not named has been drained up to it.
-- ORDER BY tx demands the index on (lane, tx); BETWEEN instead of = keeps the demand alive.
SELECT pg_current_snapshot()::text,
       ARRAY(
         SELECT l.lane
           FROM unnest($1::smallint[], $2::text[]) AS l (lane, drained)
          WHERE (SELECT e.tx FROM {{schema}}.event_outbox e
                  WHERE e.lane = l.lane AND e.tx >= pg_snapshot_xmax(l.drained::pg_snapshot)
                  ORDER BY e.tx LIMIT 1) IS NOT NULL
             OR (SELECT c.tx
                   FROM pg_snapshot_xip(l.drained::pg_snapshot) AS x (tx)
                  CROSS JOIN LATERAL (
                    SELECT e.tx FROM {{schema}}.event_outbox e
                     WHERE e.lane = l.lane AND e.tx BETWEEN x.tx AND x.tx
                     ORDER BY e.tx LIMIT 1
                  ) AS c
                  LIMIT 1) IS NOT NULL
       )::smallint[]
