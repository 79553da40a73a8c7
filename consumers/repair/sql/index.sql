-- Whether an index constrains anything, whether it looks like the one that is wanted, and on what it is, as
-- the catalog spells it.
SELECT i.indisvalid AND i.indisready AND i.indislive, {{is_index}},
       CASE WHEN i.indisunique THEN 'unique ' ELSE '' END || '(' ||
       (SELECT string_agg(pg_get_indexdef(i.indexrelid, n, true), ', ' ORDER BY n) FROM generate_series(1, i.indnkeyatts) AS n) || ')' ||
       coalesce(' where ' || pg_get_expr(i.indpred, i.indrelid, true), '')
  FROM pg_catalog.pg_index AS i
  JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
 WHERE i.indrelid = to_regclass($1) AND c.relname = $2
