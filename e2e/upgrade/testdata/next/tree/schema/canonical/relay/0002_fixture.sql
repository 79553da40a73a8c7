-- A version that is only for tests. The cursors have room for it, and the table is small.
ALTER TABLE {{.Schema}}.outbox_lane ADD COLUMN note text;
ALTER TABLE {{.Schema}}.outbox_batch ADD COLUMN note text;
ALTER TABLE {{.Schema}}.outbox_dead_letter ADD COLUMN note text;
