-- What is resolved already keeps its first resolution.
WITH chosen AS MATERIALIZED (
  SELECT q.id FROM {{schema}}.consumer_quarantine AS q
   WHERE q.id = ANY ($1) AND q.state = 'open'
   ORDER BY q.id
     FOR NO KEY UPDATE
)
UPDATE {{schema}}.consumer_quarantine AS q
   SET state = 'resolved', resolved_at = clock_timestamp(), resolved_by = $2, resolution = $3
  FROM chosen AS c
 WHERE q.id = c.id
RETURNING q.id
