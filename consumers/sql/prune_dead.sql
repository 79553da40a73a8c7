-- One batch of dead letters that somebody has decided about; their history stays. Others stay
-- however old, and so does what is locked.
WITH old AS MATERIALIZED (
  SELECT d.id
    FROM {{schema}}.consumer_dead_letter AS d
   WHERE d.consumer = $1 AND d.state IN ('resolved', 'discarded') AND d.changed_at < clock_timestamp() - $2::interval
   ORDER BY d.id
   LIMIT $3
     FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM {{schema}}.consumer_dead_letter AS d USING old WHERE d.id = old.id
  RETURNING 1
)
SELECT count(*) FROM gone
