-- Storage settings of tables, of their TOAST tables, and of views.
SELECT CASE r.relkind WHEN 'v' THEN 'view' ELSE 'table' END, '-', r.relname::text, 'option ' || o.prefix || x.option_name, x.option_value
  FROM ours r
 CROSS JOIN LATERAL (
   SELECT '', r.reloptions
    UNION ALL
   SELECT 'toast.', toast.reloptions FROM pg_class toast WHERE toast.oid = r.reltoastrelid
 ) AS o (prefix, options)
 CROSS JOIN LATERAL pg_options_to_table(o.options) AS x
