-- The last $3 settled batches of a lane, newest first. Only the newest batches of the table are looked
-- at, however long the lane has been idle.
SELECT b.settled_at, b.events, b.seq_first, b.seq_last, b.stream, b.stream_seq_first, b.stream_seq_last
  FROM {{schema}}.outbox_batch b
 WHERE b.id > (SELECT max(m.id) FROM {{schema}}.outbox_batch m) - $4::bigint AND b.relay_group = $1 AND b.lane = $2
 ORDER BY b.id DESC
 LIMIT $3
