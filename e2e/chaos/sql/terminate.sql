-- Ends the sessions whose name begins so, and says how many there were.
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
 WHERE starts_with(application_name, $1) AND pid <> pg_backend_pid()
