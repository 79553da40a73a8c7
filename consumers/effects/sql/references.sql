-- Foreign keys that name rows by the column, whoever has them; the table itself too.
SELECT format('%s.%s', n.nspname, c.relname), a.attname::text
  FROM pg_catalog.pg_constraint AS k
  JOIN pg_catalog.pg_class AS c ON c.oid = k.conrelid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS pair(own, named)
  JOIN pg_catalog.pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = pair.own
  JOIN pg_catalog.pg_attribute AS other ON other.attrelid = k.confrelid AND other.attnum = pair.named
 WHERE k.contype = 'f' AND k.confrelid = to_regclass($1) AND other.attname = $2 AND k.conparentid = 0
 ORDER BY 1, 2
