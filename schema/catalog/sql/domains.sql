-- Domains, with their constraints. The NOT NULL of a domain is a constraint too from version 17 on.
SELECT 'domain', '-', y.typname::text, f.property, f.value
  FROM domains y
 CROSS JOIN LATERAL (
   SELECT * FROM (VALUES
     ('type', format_type(y.typbasetype, y.typtypmod)),
     ('collation', (SELECT format('%I.%I', n.nspname, c.collname)
                      FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace
                     WHERE c.oid = y.typcollation
                       AND y.typcollation <> (SELECT base.typcollation FROM pg_type base WHERE base.oid = y.typbasetype))),
     ('not null', CASE WHEN y.typnotnull THEN 'yes' END),
     ('default', coalesce(pg_get_expr(y.typdefaultbin, 0), y.typdefault))
   ) AS v (property, value)
    UNION ALL
   SELECT 'check ' || k.conname, pg_get_constraintdef(k.oid)
     FROM pg_constraint k WHERE k.contypid = y.oid AND k.contype = 'c'
 ) AS f (property, value)
 WHERE f.value IS NOT NULL
