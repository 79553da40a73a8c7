INSERT INTO chaos.ledger (source, event_id) SELECT $1, unnest($2::text[])
