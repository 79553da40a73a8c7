-- What keeps dead rows of this database from being removed, and for how many transactions: the
-- oldest snapshot, transaction, prepared transaction or replication slot. Their transaction
-- ids are shown to every role; since when they run is not.
SELECT coalesce(max(h.age), 0)::bigint, coalesce((array_agg(h.xmin ORDER BY h.age DESC))[1], '')
  FROM (
    SELECT age(x.xmin)::bigint AS age, x.xmin::text AS xmin
      FROM pg_stat_activity a
     CROSS JOIN LATERAL (VALUES (a.backend_xmin), (a.backend_xid)) AS x (xmin)
     WHERE x.xmin IS NOT NULL AND a.pid <> pg_backend_pid()
       AND (a.datname = current_database() OR a.datname IS NULL)
       AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
    UNION ALL
    SELECT age(p.transaction)::bigint, p.transaction::text FROM pg_prepared_xacts p WHERE p.database = current_database()
    UNION ALL
    SELECT age(s.xmin)::bigint, s.xmin::text FROM pg_replication_slots s WHERE s.xmin IS NOT NULL
  ) AS h
