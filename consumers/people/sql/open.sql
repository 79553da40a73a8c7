-- Transactions that began before the cut. This statement's own began after it.
SELECT a.pid, coalesce(a.usename, '')::text, coalesce(a.application_name, ''), coalesce(a.state, ''), a.xact_start
  FROM pg_catalog.pg_stat_activity AS a
 WHERE a.datname = current_database() AND a.backend_type = 'client backend' AND a.xact_start <= $1 AND a.pid <> pg_backend_pid()
 ORDER BY a.xact_start, a.pid
