-- The newest $7 events that the filters choose, without their payloads: the last of each lane through its
-- primary key, merged. NULL means any.
SELECT c.*
  FROM {{schema}}.outbox_lane l
 CROSS JOIN LATERAL (
   SELECT {{columns}}, {{state}} AS state
     FROM {{log}} e
    WHERE e.lane = l.lane
      AND ($2::text IS NULL OR e.type = $2) AND ($3::text IS NULL OR e.partition_key = $3)
      AND ($4::timestamptz IS NULL OR e.staged_at >= $4) AND ($5::timestamptz IS NULL OR e.staged_at < $5)
      AND ($6::text IS NULL OR {{state}} = $6)
    ORDER BY e.seq DESC
    LIMIT $7
 ) AS c
 WHERE l.relay_group = $1
 ORDER BY c.seq DESC
 LIMIT $7
