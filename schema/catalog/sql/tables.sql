-- Tables. What has its default is not told, so that most tables tell little.
SELECT 'table', '-', t.relname::text, f.property, f.value
  FROM tables t
 CROSS JOIN LATERAL (VALUES
   ('kind', CASE t.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table' WHEN 'f' THEN 'foreign table' ELSE 'materialized view' END),
   ('partition key', CASE t.relkind WHEN 'p' THEN pg_get_partkeydef(t.oid) END),
   ('persistence', CASE t.relpersistence WHEN 'u' THEN 'unlogged' WHEN 't' THEN 'temporary' END),
   ('access method', (SELECT am.amname::text FROM pg_am am WHERE am.oid = t.relam AND am.amname <> 'heap')),
   ('replica identity', CASE t.relreplident WHEN 'n' THEN 'nothing' WHEN 'f' THEN 'full' WHEN 'i' THEN 'an index' END),
   ('row security', CASE WHEN t.relrowsecurity THEN 'on' END),
   ('forced row security', CASE WHEN t.relforcerowsecurity THEN 'on' END)
 ) AS f (property, value)
 WHERE f.value IS NOT NULL
