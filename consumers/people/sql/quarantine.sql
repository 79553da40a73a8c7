SELECT q.id, q.fact_id, q.consumer, q.event_source, q.event_id, q.event_type, f.source, f.account_id, f.fact_type, f.fact_key,
       q.reason, q.state, q.created_at, q.seen_at, q.resolved_at, coalesce(q.resolved_by, ''), coalesce(q.resolution, ''), q.difference
  FROM {{schema}}.consumer_quarantine AS q
  JOIN {{schema}}.consumer_fact AS f ON f.id = q.fact_id
 WHERE ($1::bigint[] IS NULL OR q.id = ANY ($1))
   AND ($2::text = '' OR q.consumer = $2)
   AND ($3::text = '' OR q.event_type = $3)
   AND (NOT $4::boolean OR q.state = 'open')
   AND ($5::timestamptz IS NULL OR q.created_at >= $5)
   AND ($6::timestamptz IS NULL OR q.created_at < $6)
 ORDER BY q.created_at, q.id
 LIMIT $7
