-- The comparison is one snapshot for as long as it takes, most of which the database waits for the stream.
SELECT set_config('idle_in_transaction_session_timeout', '0', true), set_config('statement_timeout', '0', true)
