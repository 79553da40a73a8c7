-- Nothing is staged, released or settled until the end of the transaction. A lock takes no
-- snapshot, so the first query after it sees everything that was committed before it.
LOCK TABLE {{schema}}.holdfast_schema, {{schema}}.outbox_lane, {{schema}}.event_outbox IN SHARE ROW EXCLUSIVE MODE
