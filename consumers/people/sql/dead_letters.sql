SELECT d.id, d.stream_seq, d.consumer, d.stream, coalesce(d.event_source, ''), coalesce(d.event_id, ''), coalesce(d.event_type, ''),
       d.reason_code, encode(d.reason_detail_sha256, 'hex'), d.attempts, d.state, d.dead_at, d.changed_at, d.claim_until
  FROM {{schema}}.consumer_dead_letter AS d
 WHERE ($1::bigint[] IS NULL OR d.id = ANY ($1))
   AND ($2::text[] IS NULL OR d.event_id = ANY ($2))
   AND ($3::text = '' OR d.consumer = $3)
   AND ($4::text[] IS NULL OR d.state = ANY ($4))
   AND ($5::text = '' OR d.reason_code = $5)
   AND ($6::text = '' OR d.event_type = $6)
   AND ($7::timestamptz IS NULL OR d.dead_at >= $7)
   AND ($8::timestamptz IS NULL OR d.dead_at < $8)
 ORDER BY d.dead_at, d.id
 LIMIT $9
