-- Ends a replay, for whoever has its token: a claim that ran out ends nothing. A replay that is put
-- off counts nothing and leaves no trace; its turn comes after the others.
WITH ended AS (
  UPDATE {{schema}}.consumer_dead_letter AS d
     SET state = $3, claim_token = NULL, claim_until = NULL, changed_at = clock_timestamp(), attempts = d.attempts + $4,
         reason_code = coalesce($5, d.reason_code), reason_detail_sha256 = coalesce($6, d.reason_detail_sha256)
   WHERE d.id = $1 AND d.claim_token = $2::text::uuid AND d.state = 'replaying'
  RETURNING d.id, d.consumer, d.stream, d.stream_seq, d.attempts, d.state
), history AS (
  INSERT INTO {{schema}}.consumer_dead_letter_history (dead_letter_id, stream_seq, attempts, consumer, stream, state, actor, reason)
  SELECT e.id, e.stream_seq, e.attempts, e.consumer, e.stream, e.state, e.consumer, $7 FROM ended AS e WHERE e.state <> 'replay_requested'
)
SELECT EXISTS (SELECT FROM ended)
