-- Triggers, without those inside foreign keys and the copies that partitions have.
SELECT 'trigger', t.relname::text, g.tgname::text, f.property, f.value
  FROM ours t
  JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal AND g.tgparentid = 0
 CROSS JOIN LATERAL (VALUES
   ('definition', pg_get_triggerdef(g.oid)),
   ('enabled', CASE g.tgenabled WHEN 'D' THEN 'no' WHEN 'R' THEN 'replica only' WHEN 'A' THEN 'always' END)
 ) AS f (property, value)
 WHERE f.value IS NOT NULL
