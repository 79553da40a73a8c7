-- Foreign keys of somebody else's tables on ours: they forbid TRUNCATE, and check every delete. Facts are never
-- deleted, and are there to be named: each effect of a service has a key on one.
SELECT 'reference', t.relname::text, format('%s %s', x.tab, x.name), f.property, f.value
  FROM tables t
  JOIN pg_constraint k ON k.confrelid = t.oid AND k.contype = 'f' AND k.conparentid = 0
  JOIN pg_class other ON other.oid = k.conrelid
  JOIN pg_namespace n ON n.oid = other.relnamespace
 CROSS JOIN LATERAL (SELECT format('%I.%I', n.nspname, other.relname), quote_ident(k.conname)) AS x (tab, name)
 CROSS JOIN LATERAL (VALUES ('definition', pg_get_constraintdef(k.oid)), ('~table', x.tab), ('~name', x.name)) AS f (property, value)
 WHERE k.conrelid NOT IN (SELECT t.oid FROM tables t)
   AND t.relname <> 'consumer_fact'
