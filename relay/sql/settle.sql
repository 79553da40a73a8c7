-- Moves the cursor of a lane, if this claim still owns it, and records the batch.
-- The lease is judged here, by the clock of the database. A settle that is repeated
-- because its first outcome was unknown finds the cursor moved (done) and records
-- nothing twice. A snapshot of another incarnation of the server proves nothing here.
WITH own AS (
  SELECT l.lane,
         l.drained::text = $4 AND l.target::text IS NOT DISTINCT FROM $5 AND l.pos IS NOT DISTINCT FROM $6 AS done
    FROM {{schema}}.outbox_lane l
   WHERE l.relay_group = $1 AND l.lane = $2 AND l.lease_token = $3::text::uuid AND l.lease_until > clock_timestamp()
     AND {{incarnation}} = $14
     FOR UPDATE
), settled AS (
  UPDATE {{schema}}.outbox_lane l
     SET drained = $4::text::pg_snapshot,
         target = $5::text::pg_snapshot,
         pos = $6,
         stream_seq = greatest(l.stream_seq, $7)
    FROM own
   WHERE l.relay_group = $1 AND l.lane = own.lane AND NOT own.done
), recorded AS (
  INSERT INTO {{schema}}.outbox_batch
    (relay_group, lane, events, seq_first, seq_last, stream, stream_seq_first, stream_seq_last)
  SELECT $1, own.lane, $8, $9, $10, $11, $12, $13 FROM own WHERE $8 > 0 AND NOT own.done
)
SELECT count(*) FROM own
