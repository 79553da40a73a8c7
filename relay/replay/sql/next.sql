-- The next $7 places in the order of the log: the first of each lane through its primary key, merged.
SELECT c.lane, c.seq
  FROM {{schema}}.outbox_lane l
 CROSS JOIN LATERAL (
   SELECT e.lane, e.seq
     FROM {{schema}}.event_outbox e
    WHERE e.lane = l.lane AND e.seq >= $2 AND e.seq < $3 AND e.seq > $4
      AND ($5::text IS NULL OR e.type = $5) AND ($6::text IS NULL OR e.partition_key = $6)
      AND {{ready}}
    ORDER BY e.seq
    LIMIT $7
 ) AS c
 WHERE l.relay_group = $1
 ORDER BY c.seq
 LIMIT $7
