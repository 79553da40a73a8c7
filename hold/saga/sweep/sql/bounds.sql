-- For this transaction alone: a lock that somebody keeps must not stop the sweep.
SELECT set_config('lock_timeout', $1::text, true)
