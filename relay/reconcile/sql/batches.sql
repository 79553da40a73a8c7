-- What was settled, in the order in which it was. The lanes are those of interest.
SELECT b.lane, b.events, b.seq_first, b.seq_last, b.stream_seq_first
  FROM {{schema}}.outbox_batch b
 WHERE b.relay_group = $1 AND b.stream = $2 AND b.lane = ANY ($3::smallint[])
 ORDER BY b.id
