-- Moves the cursor of a lane, if this claim still owns it, and records the batch.
-- The lease is judged here, by the clock of the database.
WITH settled AS (
  UPDATE {{schema}}.outbox_lane l
     SET drained = $4::text::pg_snapshot,
         target = $5::text::pg_snapshot,
         pos = $6,
         stream_seq = greatest(l.stream_seq, $7)
   WHERE l.relay_group = $1 AND l.lane = $2 AND l.lease_token = $3 AND l.lease_until > clock_timestamp()
  RETURNING l.lane
), recorded AS (
  INSERT INTO {{schema}}.outbox_batch
    (relay_group, lane, events, seq_first, seq_last, stream, stream_seq_first, stream_seq_last)
  SELECT $1, s.lane, $8, $9, $10, $11, $12, $13 FROM settled s WHERE $8 > 0
)
SELECT count(*) FROM settled
