-- The event is in the stream, or need not be ($7 = 0). The whole claim is proven here. The
-- batch row is what reconcile compares with the stream.
WITH gone AS (
  DELETE FROM {{schema}}.outbox_retry r
   WHERE r.id = $1 AND r.attempts = $2 AND r.row_version = $3 AND r.lease_owner = $4 AND r.lease_token = $5
     AND r.lease_until = $6 AND r.lease_until > clock_timestamp()
  RETURNING r.relay_group, r.lane, r.seq, r.partition_key
), recorded AS (
  INSERT INTO {{schema}}.outbox_batch
    (relay_group, lane, events, seq_first, seq_last, stream, stream_seq_first, stream_seq_last)
  SELECT g.relay_group, g.lane, 1, g.seq, g.seq, $8, $7::bigint, $7::bigint FROM gone g WHERE $7::bigint > 0
)
SELECT g.lane, coalesce(g.partition_key, '') FROM gone g
