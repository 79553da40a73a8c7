-- Dead letters by filter, oldest first, without their payloads. NULL means any.
SELECT d.id, d.lane, d.seq, d.event_id, d.source, d.type, coalesce(d.subject, ''), coalesce(d.datacontenttype, ''),
       coalesce(d.partition_key, ''), coalesce(d.hold_operation_id::text, ''), coalesce(d.hold_generation, 0),
       d.reason_code, decode(d.reason_detail_sha256, 'hex'), d.attempts, d.requeue_epoch, d.dead_at, d.staged_at, coalesce(d.data_bytes, 0)
  FROM {{dead}} d
 WHERE d.relay_group = $1
   AND ($2::bigint[] IS NULL OR d.id = ANY ($2))
   AND ($3::text[] IS NULL OR d.event_id = ANY ($3))
   AND ($4::text IS NULL OR d.reason_code = $4)
   AND ($5::text IS NULL OR d.type = $5)
   AND ($6::text IS NULL OR d.partition_key = $6)
   AND ($7::timestamptz IS NULL OR d.dead_at >= $7)
   AND ($8::timestamptz IS NULL OR d.dead_at < $8)
 ORDER BY d.id
 LIMIT $9
