-- The settled batches that may have an event, oldest first: a batch is a range of numbers of its lane, in
-- which others may have been settled earlier or later. One that is the event's alone comes from a retry.
SELECT b.settled_at, b.events, b.seq_first, b.seq_last, b.stream, b.stream_seq_first, b.stream_seq_last
  FROM {{schema}}.outbox_batch b
 WHERE b.relay_group = $1 AND b.lane = $2 AND b.seq_first <= $3 AND b.seq_last >= $3
 ORDER BY b.id
 LIMIT 100
