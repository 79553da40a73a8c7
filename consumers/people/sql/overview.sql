WITH inbox AS (
  SELECT i.consumer, count(*) AS deliveries, count(*) FILTER (WHERE i.processed_at IS NULL) AS failing, max(i.processed_at) AS last
    FROM {{schema}}.consumer_inbox AS i
   WHERE $1::text = '' OR i.consumer = $1
   GROUP BY i.consumer
), quarantine AS (
  SELECT q.consumer, count(*) FILTER (WHERE q.state = 'open') AS open
    FROM {{schema}}.consumer_quarantine AS q
   WHERE $1::text = '' OR q.consumer = $1
   GROUP BY q.consumer
), dead AS (
  SELECT d.consumer, count(*) FILTER (WHERE d.state = 'dead') AS dead, min(d.dead_at) FILTER (WHERE d.state = 'dead') AS oldest,
         count(*) FILTER (WHERE d.state = 'replay_requested') AS requested, count(*) FILTER (WHERE d.state = 'replaying') AS replaying
    FROM {{schema}}.consumer_dead_letter AS d
   WHERE $1::text = '' OR d.consumer = $1
   GROUP BY d.consumer
), names AS (
  SELECT consumer FROM inbox UNION SELECT consumer FROM quarantine UNION SELECT consumer FROM dead
)
SELECT n.consumer, coalesce(i.deliveries, 0), coalesce(i.failing, 0), i.last, coalesce(q.open, 0), coalesce(d.dead, 0), d.oldest,
       coalesce(d.requested, 0), coalesce(d.replaying, 0)
  FROM names AS n
  LEFT JOIN inbox AS i ON i.consumer = n.consumer
  LEFT JOIN quarantine AS q ON q.consumer = n.consumer
  LEFT JOIN dead AS d ON d.consumer = n.consumer
 ORDER BY n.consumer
