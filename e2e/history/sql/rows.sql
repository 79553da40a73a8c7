-- Every event that the outbox has.
SELECT source, event_id, lane, coalesce(tx::text, '0')::bigint, seq FROM outbox.event_outbox
