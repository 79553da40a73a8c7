-- One batch. A row that somebody has locked is left for the next pass.
WITH old AS MATERIALIZED (
  SELECT i.consumer, i.event_source, i.event_id
    FROM {{schema}}.consumer_inbox AS i
   WHERE i.consumer = $1 AND i.received_at < clock_timestamp() - $2::interval
   ORDER BY i.received_at
   LIMIT $3
     FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM {{schema}}.consumer_inbox AS i USING old
   WHERE i.consumer = old.consumer AND i.event_source = old.event_source AND i.event_id = old.event_id
  RETURNING 1
)
SELECT count(*) FROM gone
