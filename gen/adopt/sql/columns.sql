-- The columns of a table, and where their values come from. A domain counts as what it is made of.
SELECT a.attname::text,
       pg_catalog.format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL),
       t.typtype = 'e',
       a.attnotnull,
       coalesce(s.cache, 0),
       EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey))
  FROM pg_attribute a
  JOIN pg_type t ON t.oid = a.atttypid
  -- A sequence counts if it alone gives the value, and only ever goes up.
  LEFT JOIN LATERAL (
    SELECT q.seqcache AS cache
      FROM pg_depend d
      LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
      JOIN pg_sequence q ON q.seqrelid = CASE WHEN a.attidentity <> '' THEN d.objid ELSE d.refobjid END
     WHERE q.seqincrement > 0 AND NOT q.seqcycle
       AND CASE WHEN a.attidentity <> ''
                THEN d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
                     AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum AND d.deptype = 'i'
                ELSE d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass
                     AND pg_get_expr(f.adbin, f.adrelid) ~ '^nextval\(''([^'']|'''')+''::regclass\)$' END
     LIMIT 1
  ) AS s ON true
 WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attnum
