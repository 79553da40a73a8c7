-- Indexes. One that is attached to an index of the parent is told under that name, and only
-- that it is there: being attached implies the same definition.
SELECT 'index', t.relname::text, coalesce(parent.relname, c.relname)::text, f.property, f.value
  FROM tables t
  JOIN pg_index i ON i.indrelid = t.oid
  JOIN pg_class c ON c.oid = i.indexrelid
  LEFT JOIN pg_inherits h ON h.inhrelid = i.indexrelid
  LEFT JOIN pg_class parent ON parent.oid = h.inhparent
  LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x') AND k.conrelid = i.indrelid
  -- Storage settings are told one by one, so they must go from where the server writes them.
 CROSS JOIN LATERAL (
   SELECT ' WITH (' || string_agg(quote_ident(x.option_name) || '=' || CASE quote_ident(x.option_value) WHEN x.option_value THEN x.option_value
                                                                        ELSE quote_literal(x.option_value) END, ', ') || ')'
     FROM pg_options_to_table(c.reloptions) AS x
 ) AS settings (text)
 CROSS JOIN LATERAL (
   SELECT 'definition', CASE WHEN parent.oid IS NOT NULL THEN 'attached'
                             ELSE replace(pg_get_indexdef(i.indexrelid), coalesce(settings.text, ''), '') END
    UNION ALL
   SELECT 'constraint', coalesce((SELECT kp.conname FROM pg_constraint kp WHERE kp.oid = k.conparentid), k.conname)::text
    UNION ALL
   SELECT 'validity', CASE WHEN NOT (i.indisvalid AND i.indisready AND i.indislive) THEN 'invalid' END
    UNION ALL
   SELECT '~name', c.relname::text WHERE parent.oid IS NOT NULL
    UNION ALL
   -- An index that can refuse a row: for its like, or because an expression fails.
   SELECT '~refuses', 'yes' WHERE i.indisunique OR i.indisexclusion OR i.indexprs IS NOT NULL OR i.indpred IS NOT NULL
    UNION ALL
   SELECT 'option ' || x.option_name, x.option_value FROM pg_options_to_table(c.reloptions) AS x
 ) AS f (property, value)
 WHERE f.value IS NOT NULL
