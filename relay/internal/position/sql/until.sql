-- Where a window ends that ends at $1: before the first number that was drawn then or later.
SELECT min(e.seq) FROM {{schema}}.event_outbox e WHERE e.hold_operation_id IS NULL AND e.staged_at >= $1
