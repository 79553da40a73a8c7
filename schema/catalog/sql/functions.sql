-- Functions, all that share a name with one of ours: a second one changes which is called.
SELECT 'function', '-', p.signature, f.property, f.value
  FROM functions p
  JOIN pg_language l ON l.oid = p.prolang
 CROSS JOIN keeper
 CROSS JOIN LATERAL (
   SELECT * FROM (VALUES
     ('kind', CASE p.prokind WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' WHEN 'w' THEN 'window function' ELSE 'function' END),
     ('arguments', pg_get_function_arguments(p.oid)),
     ('result', pg_get_function_result(p.oid)),
     ('language', l.lanname::text),
     ('body', p.prosrc),
     ('SQL body', CASE WHEN p.prosqlbody IS NOT NULL THEN pg_get_function_sqlbody(p.oid) END),
     ('volatility', CASE p.provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE' ELSE 'VOLATILE' END),
     ('parallel', CASE p.proparallel WHEN 's' THEN 'SAFE' WHEN 'r' THEN 'RESTRICTED' ELSE 'UNSAFE' END),
     ('security', CASE WHEN p.prosecdef THEN 'DEFINER' ELSE 'INVOKER' END),
     ('strict', CASE WHEN p.proisstrict THEN 'yes' END),
     ('leakproof', CASE WHEN p.proleakproof THEN 'yes' END),
     ('cost', CASE WHEN p.procost <> 100 THEN p.procost::text END),
     ('rows', CASE WHEN p.proretset AND p.prorows <> 1000 THEN p.prorows::text END),
     ('support', CASE WHEN p.prosupport <> 0 THEN p.prosupport::text END),
     ('owner', CASE WHEN p.prosecdef AND NOT pg_has_role(p.proowner, keeper.oid, 'USAGE') THEN pg_get_userbyid(p.proowner)::text END)
   ) AS v (property, value)
    UNION ALL
   SELECT 'setting ' || split_part(s.setting, '=', 1), substr(s.setting, strpos(s.setting, '=') + 1)
     FROM unnest(p.proconfig) AS s (setting)
 ) AS f (property, value)
 WHERE f.value IS NOT NULL
