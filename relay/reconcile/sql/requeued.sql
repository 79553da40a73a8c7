-- Which of these events had been dead letters: their keys had gone on without them.
SELECT DISTINCT p.n
  FROM unnest($2::smallint[], $3::bigint[]) WITH ORDINALITY AS p (lane, seq, n)
  JOIN {{schema}}.outbox_dead_letter_history h ON h.lane = p.lane AND h.seq = p.seq
 WHERE h.relay_group = $1 AND h.action = 'requeued'
