-- Sequences; the one behind an identity column under the name of the column.
SELECT q.kind, q.tab, q.name, f.property, f.value
  FROM (
    SELECT 'sequence', '-', r.relname::text, r.oid, r.relpersistence FROM ours r WHERE r.relkind = 'S'
     UNION ALL
    SELECT 'identity', t.relname::text, a.attname::text, c.oid, c.relpersistence
      FROM tables t
      JOIN pg_attribute a ON a.attrelid = t.oid AND a.attidentity <> ''
      JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
                      AND d.refobjid = t.oid AND d.refobjsubid = a.attnum AND d.deptype = 'i'
      JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'S'
  ) AS q (kind, tab, name, oid, persistence)
  JOIN pg_sequence s ON s.seqrelid = q.oid
 CROSS JOIN LATERAL (VALUES
   ('type', format_type(s.seqtypid, NULL)),
   ('start', s.seqstart::text),
   ('increment', s.seqincrement::text),
   ('minimum', s.seqmin::text),
   ('maximum', s.seqmax::text),
   ('cache', s.seqcache::text),
   ('cycle', CASE WHEN s.seqcycle THEN 'yes' END),
   ('persistence', CASE q.persistence WHEN 'u' THEN 'unlogged' WHEN 't' THEN 'temporary' END)
 ) AS f (property, value)
 WHERE f.value IS NOT NULL
