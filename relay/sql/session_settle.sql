-- A settle may be lost with the server: the worst case is a second publication of the same ids.
SELECT {{incarnation}}, set_config('synchronous_commit', 'off', true)
