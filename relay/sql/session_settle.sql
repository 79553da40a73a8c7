-- A settle may be lost with the server: the worst case is a second publication of the same ids.
-- It holds its lane's row, which renewals need, so it does not wait long for somebody else's lock.
SELECT {{incarnation}}, set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '1s', true)
