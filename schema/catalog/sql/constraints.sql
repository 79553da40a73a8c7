-- Constraints. The one of a partition is told under the name that it has on the parent;
-- NOT NULL is told with its column, and a constraint trigger as a trigger.
SELECT 'constraint', t.relname::text, coalesce(parent.conname, k.conname)::text, f.property, f.value
  FROM tables t
  JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype IN ('c', 'f', 'p', 'u', 'x')
  LEFT JOIN pg_constraint parent ON parent.oid = k.conparentid
 CROSS JOIN LATERAL (VALUES
   ('definition', pg_get_constraintdef(k.oid)),
   -- ALTER TABLE .. DISABLE TRIGGER ALL, forgotten after a bulk load, leaves a foreign key that checks nothing.
   ('enforcement', (SELECT 'its triggers are disabled' FROM pg_trigger g
                     WHERE g.tgconstraint = k.oid AND g.tgisinternal AND g.tgenabled IN ('D', 'R') LIMIT 1))
 ) AS f (property, value)
 WHERE f.value IS NOT NULL
