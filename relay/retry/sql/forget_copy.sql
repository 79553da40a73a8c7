-- The copy that a requeue kept has done its work.
DELETE FROM {{schema}}.outbox_requeued q WHERE q.relay_group = $1 AND q.lane = $2 AND q.seq = $3
