-- Foreign keys that name rows, by whatever columns and whoever has them; the table itself too.
SELECT format('%s.%s', n.nspname, c.relname), pair.own, pair.named
  FROM pg_catalog.pg_constraint AS k
  JOIN pg_catalog.pg_class AS c ON c.oid = k.conrelid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL (
    SELECT array_agg(a.attname::text ORDER BY p.at) AS own, array_agg(other.attname::text ORDER BY p.at) AS named
      FROM unnest(k.conkey, k.confkey) WITH ORDINALITY AS p (own, named, at)
      JOIN pg_catalog.pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = p.own
      JOIN pg_catalog.pg_attribute AS other ON other.attrelid = k.confrelid AND other.attnum = p.named
  ) AS pair
 WHERE k.contype = 'f' AND k.confrelid = to_regclass($1) AND k.conparentid = 0
 ORDER BY 1, 2
