-- What keeps dead rows of this database from being removed: transactions, and prepared ones. The
-- sessions of other roles are counted but tell no time, without pg_read_all_stats.
SELECT coalesce(extract(epoch FROM clock_timestamp() - min(a.xact_start)), 0)::float8 AS oldest,
       coalesce((array_agg(a.pid ORDER BY a.xact_start) FILTER (WHERE a.xact_start IS NOT NULL))[1], 0) AS pid,
       coalesce((array_agg(coalesce(nullif(a.application_name, ''), a.usename::text) ORDER BY a.xact_start)
                  FILTER (WHERE a.xact_start IS NOT NULL))[1], '') AS who,
       count(*) FILTER (WHERE a.xact_start IS NULL)::int AS hidden,
       (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(p.prepared)), 0)::float8
          FROM pg_prepared_xacts p WHERE p.database = current_database()) AS prepared,
       (SELECT coalesce((array_agg(p.gid ORDER BY p.prepared))[1], '')
          FROM pg_prepared_xacts p WHERE p.database = current_database()) AS gid
  FROM pg_stat_activity a
 WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
   AND (a.backend_xid IS NOT NULL OR a.backend_xmin IS NOT NULL)
   AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
