-- Writes a message down before the broker is told to forget it; once, however often it is
-- delivered. Its attempts begin anew when it is delivered after a replay.
WITH dead AS (
  INSERT INTO {{schema}}.consumer_dead_letter
         (consumer, stream, stream_seq, event_source, event_id, event_type, reason_code, reason_detail_sha256, attempts)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, greatest(1, $9::integer + coalesce((
           SELECT i.deliveries FROM {{schema}}.consumer_inbox AS i
            WHERE i.consumer = $1 AND i.event_source = $4 AND i.event_id = $5 AND i.processed_at IS NULL), 0)))
  ON CONFLICT ON CONSTRAINT consumer_dead_letter_message DO NOTHING
  RETURNING id, consumer, stream, stream_seq, attempts, state, reason_code
), history AS (
  INSERT INTO {{schema}}.consumer_dead_letter_history (dead_letter_id, stream_seq, attempts, consumer, stream, state, actor, reason)
  SELECT d.id, d.stream_seq, d.attempts, d.consumer, d.stream, d.state, d.consumer, d.reason_code FROM dead AS d
), forgotten AS (
  DELETE FROM {{schema}}.consumer_inbox AS i
   WHERE i.consumer = $1 AND i.event_source = $4 AND i.event_id = $5 AND i.processed_at IS NULL
)
SELECT coalesce((SELECT d.attempts FROM dead AS d), 0)
