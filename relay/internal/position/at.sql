-- The number of the first event that entered the log at $1 or later. Events that were never held
-- drew theirs when they were staged. NULL: there are none, so no number can be dated.
SELECT least((SELECT min(e.seq) FROM {{schema}}.event_outbox e WHERE e.hold_operation_id IS NULL AND e.staged_at >= $1),
             (SELECT max(e.seq) + 1 FROM {{schema}}.event_outbox e WHERE e.hold_operation_id IS NULL AND e.staged_at < $1))
