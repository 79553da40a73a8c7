-- What the server is, and how many connections there are for this role and this database.
-- pg_stat_database is for everybody to read, unlike the details of other roles' sessions.
SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
       pg_is_in_recovery() AS recovery, current_setting('transaction_read_only')::boolean AS read_only,
       current_setting('server_encoding') AS encoding, pg_backend_pid() AS pid,
       current_database()::text AS database, current_user::text AS role, r.rolsuper AS superuser,
       r.rolconnlimit AS role_limit, d.datconnlimit AS database_limit,
       current_setting('max_connections')::int
         - CASE WHEN r.rolsuper THEN 0
                ELSE current_setting('superuser_reserved_connections')::int
                   + coalesce(current_setting('reserved_connections', true), '0')::int END AS server_limit,
       (SELECT coalesce(sum(s.numbackends), 0)::int FROM pg_stat_database s) AS server_used,
       (SELECT coalesce(sum(s.numbackends), 0)::int FROM pg_stat_database s WHERE s.datid = d.oid) AS database_used,
       (SELECT count(*)::int FROM pg_stat_activity a WHERE a.usesysid = r.oid) AS role_used
  FROM pg_roles r, pg_database d
 WHERE r.rolname = current_user AND d.datname = current_database()
