SELECT pg_catalog.md5(pg_catalog.string_agg(pg_catalog.format('%s %s %s', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull), ',' ORDER BY a.attnum))
  FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
