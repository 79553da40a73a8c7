-- Views.
SELECT 'view', '-', v.relname::text, f.property, f.value
  FROM ours v
 CROSS JOIN keeper
 CROSS JOIN LATERAL (VALUES
   ('definition', pg_get_viewdef(v.oid)),
   ('owner', CASE WHEN NOT pg_has_role(v.relowner, keeper.oid, 'USAGE') THEN pg_get_userbyid(v.relowner)::text END)
 ) AS f (property, value)
 WHERE v.relkind = 'v' AND f.value IS NOT NULL
