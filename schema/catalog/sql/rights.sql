-- What everybody may do; and the rights of the others, to give them back when an
-- object has to be made anew.
SELECT o.kind, '-', o.name,
       CASE WHEN x.everybody THEN 'rights of PUBLIC' ELSE '~grants' END,
       CASE WHEN x.everybody THEN string_agg(DISTINCT x.privilege, ', ')
            ELSE string_agg(DISTINCT x.privilege || ' TO ' || x.grantee, E'\n') END
  FROM (
    SELECT CASE r.relkind WHEN 'S' THEN 'sequence' WHEN 'v' THEN 'view' ELSE 'table' END, r.relname::text, r.relowner, NULL, r.relacl
      FROM ours r
     UNION ALL
    SELECT CASE r.relkind WHEN 'v' THEN 'view' ELSE 'table' END, r.relname::text, r.relowner, quote_ident(c.attname), c.attacl
      FROM ours r
      JOIN pg_attribute c ON c.attrelid = r.oid AND c.attacl IS NOT NULL AND NOT c.attisdropped
     UNION ALL
    SELECT 'function', p.signature, p.proowner, NULL, coalesce(p.proacl, acldefault('f', p.proowner))
      FROM functions p
     UNION ALL
    SELECT 'domain', y.typname::text, y.typowner, NULL, coalesce(y.typacl, acldefault('T', y.typowner))
      FROM domains y
  ) AS o (kind, name, owner, col, acl)
 CROSS JOIN LATERAL (
   SELECT a.grantee = 0, a.privilege_type || coalesce(' (' || o.col || ')', ''),
          quote_ident(pg_get_userbyid(a.grantee)) || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
     FROM aclexplode(o.acl) AS a
    WHERE a.grantee <> o.owner
 ) AS x (everybody, privilege, grantee)
 GROUP BY o.kind, o.name, x.everybody
