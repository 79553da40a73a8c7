-- How an event waits for a retry, and behind which event of its key: the first.
SELECT r.work_kind, r.attempts, r.requeue_epoch, CASE WHEN r.next_visible_at < 'infinity' THEN r.next_visible_at END, r.updated_at,
       coalesce(r.reason_code, ''),
       CASE WHEN r.next_visible_at = 'infinity' THEN coalesce((
         SELECT f.event_id FROM {{schema}}.outbox_retry f
          WHERE f.relay_group = r.relay_group AND f.lane = r.lane AND f.partition_key = r.partition_key AND f.seq < r.seq
          ORDER BY f.seq LIMIT 1), '') ELSE '' END
  FROM {{schema}}.outbox_retry r
 WHERE r.relay_group = $1 AND r.lane = $2 AND r.seq = $3
