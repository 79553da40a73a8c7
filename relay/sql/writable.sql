-- Undoes that somebody else left this session read-only, which a transaction pooler then gave
-- to us. What the server, the database or the role has as its default stays.
RESET default_transaction_read_only
