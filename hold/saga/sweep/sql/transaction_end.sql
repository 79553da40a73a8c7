-- What became of it. Null is an end so long ago that nobody knows it any more.
SELECT coalesce(pg_xact_status($1::text::xid8), 'forgotten'), clock_timestamp()
