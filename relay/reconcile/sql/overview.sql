-- What is known before the log and the stream are compared: how many events there are; since when
-- the log is kept (what was emptied before that is forgotten); the last acknowledged stream
-- sequence; the last one of a batch of which the log has forgotten something; whether the group exists;
-- the streams that it has published to; and what the time is, whatever this machine takes it for.
SELECT (SELECT count(*) FROM {{schema}}.event_outbox),
       (SELECT min(e.staged_at) FROM {{schema}}.event_outbox e WHERE e.hold_operation_id IS NULL),
       (SELECT coalesce(max(b.stream_seq_last), 0) FROM {{schema}}.outbox_batch b WHERE b.relay_group = $1 AND b.stream = $2),
       (SELECT coalesce(max(b.stream_seq_last), 0)
          FROM {{schema}}.outbox_batch b
          LEFT JOIN (SELECT e.lane, min(e.seq) AS first FROM {{schema}}.event_outbox e WHERE e.tx IS NOT NULL GROUP BY e.lane) AS m ON m.lane = b.lane
         WHERE b.relay_group = $1 AND b.stream = $2 AND (m.first IS NULL OR b.seq_first < m.first)),
       EXISTS (SELECT FROM {{schema}}.outbox_lane l WHERE l.relay_group = $1),
       ARRAY(SELECT DISTINCT b.stream FROM {{schema}}.outbox_batch b WHERE b.relay_group = $1 ORDER BY b.stream),
       clock_timestamp()
