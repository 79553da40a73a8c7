-- Where a window begins that begins at $1: at the first number that was drawn then or later by an event
-- that was never held, or after the last that was drawn before, whichever is less. All numbers from
-- there on were drawn after the moment in the second column: that of the event before.
WITH bound AS (
  SELECT least((SELECT min(e.seq) FROM {{schema}}.event_outbox e WHERE e.hold_operation_id IS NULL AND e.staged_at >= $1),
               (SELECT max(e.seq) + 1 FROM {{schema}}.event_outbox e WHERE e.hold_operation_id IS NULL AND e.staged_at < $1)) AS first
)
SELECT b.first,
       (SELECT max(e.staged_at) FROM {{schema}}.event_outbox e WHERE e.hold_operation_id IS NULL AND e.seq < b.first)
  FROM bound b
