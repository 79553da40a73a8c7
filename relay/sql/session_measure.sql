-- Holds for the measurements that are sent together with this one: the plans of session.sql,
-- and an end, judged by the server, for each statement.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_sort', 'off', true), set_config('jit', 'off', true), set_config('statement_timeout', '3s', true)
