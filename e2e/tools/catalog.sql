-- Everything in the database schema outbox that changes how it behaves, one line for each thing.
WITH ns AS (SELECT oid FROM pg_namespace WHERE nspname = 'outbox'),
lines AS (
  SELECT format('relation %s %s options=%s toast=%s acl=%s bound=%s', c.relname, c.relkind, c.reloptions,
                (SELECT t.reloptions FROM pg_class t WHERE t.oid = c.reltoastrelid), c.relacl, pg_get_expr(c.relpartbound, c.oid)) AS line
    FROM pg_class c, ns WHERE c.relnamespace = ns.oid
  UNION ALL
  SELECT format('column %s.%s.%s %s notnull=%s default=%s generated=%s identity=%s storage=%s', c.relname, a.attnum, a.attname,
                format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attgenerated, a.attidentity, a.attstorage)
    FROM ns JOIN pg_class c ON c.relnamespace = ns.oid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
   WHERE c.relkind IN ('r', 'p', 'v')
  UNION ALL
  SELECT format('constraint %s.%s %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid)) FROM pg_constraint k, ns WHERE k.connamespace = ns.oid
  UNION ALL
  SELECT format('index %s valid=%s', pg_get_indexdef(i.indexrelid), i.indisvalid) FROM ns JOIN pg_class c ON c.relnamespace = ns.oid JOIN pg_index i ON i.indexrelid = c.oid
  UNION ALL
  SELECT format('function %s acl=%s', pg_get_functiondef(p.oid), p.proacl) FROM pg_proc p, ns WHERE p.pronamespace = ns.oid AND p.prokind = 'f'
  UNION ALL
  SELECT format('trigger %s', pg_get_triggerdef(t.oid)) FROM ns JOIN pg_class c ON c.relnamespace = ns.oid JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal
  UNION ALL
  SELECT format('view %s %s', c.relname, pg_get_viewdef(c.oid)) FROM pg_class c, ns WHERE c.relnamespace = ns.oid AND c.relkind = 'v'
  UNION ALL
  SELECT format('sequence %s %s cache=%s', c.relname, format_type(s.seqtypid, NULL), s.seqcache) FROM ns JOIN pg_class c ON c.relnamespace = ns.oid JOIN pg_sequence s ON s.seqrelid = c.oid
  UNION ALL
  SELECT format('installed %s %s %s %s', h.component, h.version, h.checksum, h.parameters) FROM outbox.holdfast_schema h
)
SELECT line FROM lines ORDER BY line COLLATE "C"
