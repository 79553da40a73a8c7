-- The id by which the end of this transaction can be asked for after a crash. An undo that wrote
-- nothing gets one here.
SELECT pg_current_xact_id()::text, clock_timestamp()
