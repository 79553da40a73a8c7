-- Moves dead letters that are in one of the states, and keeps who did it and why. A row that an instance
-- claims at the same time is waited for, and judged as it is then. The order keeps two people who
-- move the same ones from waiting for each other in a circle.
WITH chosen AS MATERIALIZED (
  SELECT d.id FROM {{schema}}.consumer_dead_letter AS d
   WHERE d.id = ANY ($1) AND d.state = ANY ($2)
   ORDER BY d.id
     FOR NO KEY UPDATE
), moved AS (
  UPDATE {{schema}}.consumer_dead_letter AS d
     SET state = $3, changed_at = clock_timestamp()
    FROM chosen AS c
   WHERE d.id = c.id
  RETURNING d.id, d.stream_seq, d.attempts, d.consumer, d.stream, d.state
), history AS (
  INSERT INTO {{schema}}.consumer_dead_letter_history (dead_letter_id, stream_seq, attempts, consumer, stream, state, actor, reason)
  SELECT m.id, m.stream_seq, m.attempts, m.consumer, m.stream, m.state, $4, $5 FROM moved AS m ORDER BY m.id
)
SELECT m.id FROM moved AS m ORDER BY m.id
