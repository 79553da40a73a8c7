-- What the subjects of the planned events are made of, the most frequent first: the attributes that the
-- template uses, and no others, so that there are few.
SELECT s.type, s.source, s.subject, s.partition_key, count(*)
  FROM (
    SELECT e.type,
           CASE WHEN $7::boolean THEN e.source END AS source,
           CASE WHEN $8::boolean THEN e.subject END AS subject,
           CASE WHEN $9::boolean THEN e.partition_key END AS partition_key
      FROM {{schema}}.event_outbox e
      LEFT JOIN {{schema}}.outbox_lane l ON l.relay_group = $1 AND l.lane = e.lane
     WHERE e.seq >= $2 AND e.seq < $3 AND e.seq > $4
       AND ($5::text IS NULL OR e.type = $5) AND ($6::text IS NULL OR e.partition_key = $6)
       AND {{ready}}
  ) AS s
 GROUP BY s.type, s.source, s.subject, s.partition_key
 ORDER BY count(*) DESC, s.type
 LIMIT $10
