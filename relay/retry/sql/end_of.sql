-- What became of an event whose claim does not hold: still waiting, dead, or gone.
SELECT EXISTS (SELECT FROM {{schema}}.outbox_retry r WHERE r.relay_group = $1 AND r.lane = $2 AND r.seq = $3),
       d.attempts, d.requeue_epoch, d.reason_code, d.reason_detail_sha256
  FROM (SELECT 1) AS one
  LEFT JOIN {{schema}}.outbox_dead_letter d ON d.relay_group = $1 AND d.lane = $2 AND d.seq = $3
