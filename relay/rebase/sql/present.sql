-- The snapshot of now; whether ids are stored that this cluster has not given out yet; the last number
-- of the sequence, and the highest in use.
SELECT pg_current_snapshot()::text,
       EXISTS (SELECT FROM {{schema}}.outbox_lane l
                WHERE greatest(pg_snapshot_xmax(l.drained)::text::bigint, pg_snapshot_xmax(l.target)::text::bigint)
                      > pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
       OR EXISTS (SELECT FROM {{schema}}.outbox_lane l
                   CROSS JOIN LATERAL (SELECT e.tx FROM {{schema}}.event_outbox e
                                        WHERE e.lane = l.lane AND e.tx >= pg_snapshot_xmax(pg_current_snapshot())
                                        LIMIT 1) AS future),
       (SELECT CASE WHEN s.is_called THEN s.last_value ELSE s.last_value - 1 END FROM {{schema}}.event_outbox_seq s),
       greatest((SELECT max(e.seq) FROM {{schema}}.event_outbox e),
                (SELECT max(r.seq) FROM {{schema}}.outbox_retry r),
                (SELECT max(d.seq) FROM {{schema}}.outbox_dead_letter d),
                (SELECT max(h.seq) FROM {{schema}}.outbox_dead_letter_history h),
                (SELECT max(b.seq_last) FROM {{schema}}.outbox_batch b), 0)
