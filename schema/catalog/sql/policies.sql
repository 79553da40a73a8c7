-- Row security policies and rewrite rules: we have none, and either changes what a statement does.
SELECT 'policy', t.relname::text, p.polname::text, f.property, f.value
  FROM tables t
  JOIN pg_policy p ON p.polrelid = t.oid
 CROSS JOIN LATERAL (VALUES
   ('definition', concat_ws(' ', CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
                            'USING (' || pg_get_expr(p.polqual, p.polrelid) || ')', 'WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')')),
   ('~row security', CASE WHEN t.relrowsecurity THEN 'on' END)
 ) AS f (property, value)
 WHERE f.value IS NOT NULL
UNION ALL
SELECT 'rule', r.relname::text, w.rulename::text, 'definition', pg_get_ruledef(w.oid)
  FROM ours r
  JOIN pg_rewrite w ON w.ev_class = r.oid AND w.rulename <> '_RETURN'
