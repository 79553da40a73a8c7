SELECT x.kind, x.name
  FROM (
    SELECT 'kind', CASE c.relkind WHEN 'p' THEN 'a partitioned table' WHEN 'v' THEN 'a view' WHEN 'm' THEN 'a materialized view'
                                  WHEN 'f' THEN 'a foreign table' END
      FROM pg_catalog.pg_class c WHERE c.oid = $1 AND c.relkind <> 'r'
     UNION ALL
    SELECT 'partition', i.inhparent::pg_catalog.regclass::text FROM pg_catalog.pg_inherits i WHERE i.inhrelid = $1
     UNION ALL
    SELECT 'child', i.inhrelid::pg_catalog.regclass::text FROM pg_catalog.pg_inherits i WHERE i.inhparent = $1
     UNION ALL
    SELECT 'trigger', t.tgname::text FROM pg_catalog.pg_trigger t WHERE t.tgrelid = $1 AND NOT t.tgisinternal
     UNION ALL
    SELECT 'rule', r.rulename::text FROM pg_catalog.pg_rewrite r WHERE r.ev_class = $1 AND r.rulename <> '_RETURN'
     UNION ALL
    SELECT 'row security', c.relname::text FROM pg_catalog.pg_class c WHERE c.oid = $1 AND c.relrowsecurity
     UNION ALL
    SELECT 'foreign key', pg_catalog.format('%s of %s', k.conname, k.conrelid::pg_catalog.regclass)
      FROM pg_catalog.pg_constraint k WHERE k.confrelid = $1 AND k.contype = 'f'
  ) AS x (kind, name)
 ORDER BY x.kind, x.name
