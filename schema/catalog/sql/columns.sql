-- Columns, in no order: nothing reads them by their place.
SELECT 'column', t.relname::text, a.attname::text, f.property, f.value
  FROM tables t
  JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type y ON y.oid = a.atttypid
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 CROSS JOIN (SELECT '{"p": "PLAIN", "e": "EXTERNAL", "m": "MAIN", "x": "EXTENDED"}'::jsonb) AS storage (names)
 CROSS JOIN LATERAL (VALUES
   ('type', format_type(a.atttypid, a.atttypmod)),
   ('collation', (SELECT format('%I.%I', n.nspname, c.collname)
                    FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace
                   WHERE c.oid = a.attcollation AND a.attcollation <> y.typcollation)),
   -- From version 18 on it may be there and not hold for the rows that were there before.
   ('not null', CASE WHEN a.attnotnull AND EXISTS (SELECT FROM pg_constraint k
                        WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum] AND NOT k.convalidated)
                     THEN 'not validated'
                     WHEN a.attnotnull THEN 'yes' END),
   ('default', CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END),
   ('generated', CASE WHEN a.attgenerated <> '' THEN format('(%s) %s', pg_get_expr(d.adbin, d.adrelid),
                        CASE a.attgenerated WHEN 's' THEN 'STORED' ELSE 'VIRTUAL' END) END),
   ('identity', CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END),
   ('storage', CASE WHEN a.attstorage <> y.typstorage THEN storage.names ->> a.attstorage::text END),
   ('~storage', storage.names ->> y.typstorage::text),
   ('compression', CASE a.attcompression WHEN 'p' THEN 'pglz' WHEN 'l' THEN 'lz4' ELSE nullif(a.attcompression::text, '') END),
   ('statistics', nullif(a.attstattarget::integer, -1)::text),
   ('options', array_to_string(a.attoptions, ', '))
 ) AS f (property, value)
 WHERE f.value IS NOT NULL
