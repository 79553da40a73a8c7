-- One batch for each event that a repair put into the stream, as a retry writes it.
INSERT INTO {{schema}}.outbox_batch (relay_group, lane, events, seq_first, seq_last, stream, stream_seq_first, stream_seq_last)
SELECT $1, p.lane, 1, p.seq, p.seq, $2, p.stream_seq, p.stream_seq
  FROM unnest($3::smallint[], $4::bigint[], $5::bigint[]) AS p (lane, seq, stream_seq)
