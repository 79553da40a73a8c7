-- Which of these events were published on their own, after the batch that they had their place in, or after
-- they had been dead letters: their keys had gone on without them.
SELECT p.n
  FROM unnest($3::smallint[], $4::bigint[], $5::bigint[]) WITH ORDINALITY AS p (lane, seq, stream_seq, n)
 WHERE EXISTS (SELECT FROM {{schema}}.outbox_batch own
                 JOIN {{schema}}.outbox_batch b ON b.relay_group = own.relay_group AND b.stream = own.stream AND b.lane = own.lane
                                               AND b.id < own.id AND own.seq_first BETWEEN b.seq_first AND b.seq_last
                WHERE own.relay_group = $1 AND own.stream = $2 AND own.lane = p.lane AND own.events = 1
                  AND own.seq_first = p.seq AND own.seq_last = p.seq AND own.stream_seq_first = p.stream_seq)
    OR EXISTS (SELECT FROM {{schema}}.outbox_dead_letter_history h
                WHERE h.relay_group = $1 AND h.lane = p.lane AND h.seq = p.seq AND h.action = 'requeued')
