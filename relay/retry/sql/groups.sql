-- How many dead letters a filter chooses, by reason ($9) and by type ($10), most first. NULL means any.
SELECT CASE WHEN $9::boolean THEN d.reason_code ELSE '' END, CASE WHEN $10::boolean THEN d.type ELSE '' END,
       count(*), min(d.dead_at), max(d.dead_at)
  FROM {{dead}} d
 WHERE d.relay_group = $1
   AND ($2::bigint[] IS NULL OR d.id = ANY ($2))
   AND ($3::text[] IS NULL OR d.event_id = ANY ($3))
   AND ($4::text IS NULL OR d.reason_code = $4)
   AND ($5::text IS NULL OR d.type = $5)
   AND ($6::text IS NULL OR d.partition_key = $6)
   AND ($7::timestamptz IS NULL OR d.dead_at >= $7)
   AND ($8::timestamptz IS NULL OR d.dead_at < $8)
 GROUP BY 1, 2
 ORDER BY 3 DESC, 1, 2
