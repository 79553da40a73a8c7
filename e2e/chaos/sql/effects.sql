-- Every fact, by the event that told it first, with the number of its effects.
SELECT f.event_source, f.event_id, count(e.fact_id)::int, decode(coalesce(max(e.digest), ''), 'hex')
  FROM outbox.consumer_fact AS f
  LEFT JOIN consumed.effect AS e ON e.fact_id = f.id
 GROUP BY f.id
 ORDER BY f.id
