SELECT count(*)
  FROM {{schema}}.consumer_quarantine AS q
 WHERE ($1::bigint[] IS NULL OR q.id = ANY ($1))
   AND ($2::text = '' OR q.consumer = $2)
   AND ($3::text = '' OR q.event_type = $3)
   AND (NOT $4::boolean OR q.state = 'open')
   AND ($5::timestamptz IS NULL OR q.created_at >= $5)
   AND ($6::timestamptz IS NULL OR q.created_at < $6)
