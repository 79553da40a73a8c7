-- The database schema itself. Whoever may create objects in it could put his own in the
-- place of one that is missing. The schema public belongs to everybody in old versions.
SELECT 'schema', '-', '-', f.property, f.value
  FROM home
 CROSS JOIN LATERAL (VALUES
   ('exists', 'yes'),
   ('rights of PUBLIC', (SELECT 'CREATE' FROM aclexplode(home.nspacl) a
                          WHERE a.grantee = 0 AND a.privilege_type = 'CREATE' AND home.nspname <> 'public' LIMIT 1)),
   ('~owner', (SELECT quote_ident(r.rolname) FROM keeper k JOIN pg_roles r ON r.oid = k.oid))
 ) AS f (property, value)
 WHERE f.value IS NOT NULL
