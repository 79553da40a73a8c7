-- What hangs below our tables: partitions and children, also those of somebody else,
-- whose rows would be read as ours; and what ours hang below.
SELECT 'table', '-',
       CASE WHEN child.relnamespace = home.oid THEN child.relname::text
            ELSE format('%I.%I', n.nspname, child.relname) END,
       'parent', CASE WHEN parent.relnamespace = home.oid THEN parent.relname::text
                      ELSE format('%I.%I', pn.nspname, parent.relname) END
                 || coalesce(' ' || pg_get_expr(child.relpartbound, child.oid), '')
                 || CASE WHEN i.inhdetachpending THEN ' (being detached)' ELSE '' END
  FROM pg_inherits i
  JOIN pg_class child ON child.oid = i.inhrelid AND child.relkind IN ('r', 'p', 'f')
  JOIN pg_namespace n ON n.oid = child.relnamespace
  JOIN pg_class parent ON parent.oid = i.inhparent
  JOIN pg_namespace pn ON pn.oid = parent.relnamespace
 CROSS JOIN home
 WHERE i.inhparent IN (SELECT t.oid FROM tables t) OR i.inhrelid IN (SELECT t.oid FROM tables t)
