-- Tables of people, with the names of their columns. Ours, whose names are $1, are left out.
SELECT n.nspname::text, c.relname::text, array_agg(a.attname::text ORDER BY a.attnum)
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
   AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_%'
   AND NOT (c.relname::text = ANY ($1::text[])
            AND EXISTS (SELECT FROM pg_class l WHERE l.relnamespace = n.oid AND l.relname = 'holdfast_schema'))
 GROUP BY n.nspname, c.relname
 ORDER BY n.nspname, c.relname
