SELECT d.consumer, d.reason_code, coalesce(d.event_type, ''), d.state, count(*), min(d.dead_at), max(d.dead_at)
  FROM {{schema}}.consumer_dead_letter AS d
 WHERE ($1::bigint[] IS NULL OR d.id = ANY ($1))
   AND ($2::text[] IS NULL OR d.event_id = ANY ($2))
   AND ($3::text = '' OR d.consumer = $3)
   AND ($4::text[] IS NULL OR d.state = ANY ($4))
   AND ($5::text = '' OR d.reason_code = $5)
   AND ($6::text = '' OR d.event_type = $6)
   AND ($7::timestamptz IS NULL OR d.dead_at >= $7)
   AND ($8::timestamptz IS NULL OR d.dead_at < $8)
 GROUP BY 1, 2, 3, 4
 ORDER BY 5 DESC, 1, 2, 3, 4
