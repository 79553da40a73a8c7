-- What roles have: with how = 'effective' what they may do, by whatever way they came to it;
-- with how = 'granted' what was granted to them by name. $2 are the roles, $3 the relations,
-- $4 the functions and $5 the domains to look at.
WITH roles AS (
  SELECT r.oid, r.rolname::text AS name, r.rolsuper FROM pg_roles r WHERE r.rolname = ANY ($2::text[])
), objects AS (
  SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, c.relname::text AS name, c.oid, c.relacl AS acl, c.relowner AS owner
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = $1::text AND c.relname::text = ANY ($3::text[]) AND c.relkind IN ('r', 'p', 'v', 'S')
   UNION ALL
  SELECT 'FUNCTION', p.proname::text, p.oid, p.proacl, p.proowner
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
   WHERE n.nspname = $1::text AND p.proname::text = ANY ($4::text[])
   UNION ALL
  SELECT 'DOMAIN', y.typname::text, y.oid, y.typacl, y.typowner
    FROM pg_type y JOIN pg_namespace n ON n.oid = y.typnamespace
   WHERE n.nspname = $1::text AND y.typname::text = ANY ($5::text[]) AND y.typtype = 'd'
   UNION ALL
  SELECT 'SCHEMA', '', n.oid, n.nspacl, n.nspowner FROM pg_namespace n WHERE n.nspname = $1::text
)
SELECT r.name, 'role', '', '', '', '' FROM roles r
UNION ALL
SELECT r.name, 'effective', o.kind, o.name, p.privilege, ''
  FROM roles r
 CROSS JOIN objects o
 CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'USAGE', 'EXECUTE']) AS p (privilege)
 WHERE CASE o.kind
         WHEN 'TABLE'    THEN p.privilege IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') AND has_table_privilege(r.oid, o.oid, p.privilege)
         WHEN 'SEQUENCE' THEN p.privilege IN ('SELECT', 'UPDATE', 'USAGE') AND has_sequence_privilege(r.oid, o.oid, p.privilege)
         WHEN 'FUNCTION' THEN p.privilege = 'EXECUTE' AND has_function_privilege(r.oid, o.oid, p.privilege)
         WHEN 'DOMAIN'   THEN p.privilege = 'USAGE' AND has_type_privilege(r.oid, o.oid, p.privilege)
         ELSE p.privilege = 'USAGE' AND has_schema_privilege(r.oid, o.oid, p.privilege)
       END
UNION ALL
SELECT r.name, 'effective', o.kind, o.name, p.privilege, a.attname::text
  FROM roles r
 CROSS JOIN objects o
  JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
 CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) AS p (privilege)
 WHERE o.kind = 'TABLE' AND has_column_privilege(r.oid, o.oid, a.attnum, p.privilege)
UNION ALL
SELECT r.name, 'granted', o.kind, o.name, x.privilege_type, ''
  FROM roles r
 CROSS JOIN objects o
 CROSS JOIN LATERAL aclexplode(o.acl) AS x
 WHERE x.grantee = r.oid AND o.owner <> r.oid
UNION ALL
SELECT r.name, 'granted', o.kind, o.name, x.privilege_type, a.attname::text
  FROM roles r
 CROSS JOIN objects o
  JOIN pg_attribute a ON a.attrelid = o.oid AND a.attacl IS NOT NULL AND NOT a.attisdropped
 CROSS JOIN LATERAL aclexplode(a.attacl) AS x
 WHERE o.kind = 'TABLE' AND x.grantee = r.oid AND o.owner <> r.oid
