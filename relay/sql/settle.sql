-- Moves the cursor of a lane, if this claim still owns it, records the batch, and lets refused
-- events and those behind them wait for their retries.
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
         stream_seq = CASE WHEN $7 > 0 THEN $7 ELSE l.stream_seq END -- 0: this pod has seen nothing of the stream
    FROM own
   WHERE l.relay_group = $1 AND l.lane = own.lane AND NOT own.done
), recorded AS (
  INSERT INTO {{schema}}.outbox_batch
    (relay_group, lane, events, seq_first, seq_last, stream, stream_seq_first, stream_seq_last)
  SELECT $1, own.lane, $8, $9, $10, $11, $12, $13 FROM own WHERE $8 > 0 AND NOT own.done
), waiting AS (
  -- A refused event has a code, and had its first attempt; one behind it has neither, and is
  -- due when the head of its key leaves.
  INSERT INTO {{schema}}.outbox_retry
    (relay_group, lane, seq, event_id, partition_key, work_kind, attempts, next_visible_at, reason_code, reason_detail_sha256)
  SELECT $1, own.lane, w.seq, w.id, w.key,
         CASE WHEN w.code IS NULL THEN 'parked' ELSE 'retry_scheduled' END,
         CASE WHEN w.code IS NULL THEN 0 ELSE 1 END,
         CASE WHEN w.code IS NULL THEN 'infinity' ELSE clock_timestamp() + $20::interval END,
         w.code, w.digest
    FROM own, unnest($15::bigint[], $16::text[], $17::text[], $18::text[], $19::bytea[]) AS w (seq, id, key, code, digest)
   WHERE NOT own.done
   ORDER BY w.seq
  RETURNING *
), kept AS (
  SELECT count(*) AS rows
    FROM waiting r
    JOIN unnest($15::bigint[], $16::text[], $17::text[], $18::text[], $19::bytea[]) AS w (seq, id, key, code, digest)
      ON (r.relay_group, r.seq, r.event_id, r.attempts, r.row_version, r.requeue_epoch)
         = ($1, w.seq, w.id, CASE WHEN w.code IS NULL THEN 0 ELSE 1 END, 0, 0)
     AND r.partition_key IS NOT DISTINCT FROM w.key AND r.reason_code IS NOT DISTINCT FROM w.code
     AND r.reason_detail_sha256 IS NOT DISTINCT FROM w.digest
     AND (r.work_kind = 'parked') = (w.code IS NULL) AND (r.next_visible_at = 'infinity') = (w.code IS NULL)
     AND num_nonnulls(r.lease_owner, r.lease_token, r.lease_until) = 0
)
-- A trigger that swallows or rewrites what is to wait would lose an event behind the moved
-- cursor: the cast fails, and the statement with it (22P02).
SELECT coalesce((SELECT CASE WHEN own.done OR kept.rows = coalesce(cardinality($15), 0) THEN 1
                             ELSE concat('outbox_retry kept ', kept.rows, ' of ', cardinality($15), ' events that are to wait')::integer END
                   FROM own, kept), 0)
