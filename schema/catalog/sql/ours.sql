-- What follows is one statement, so that it sees one snapshot: this head, then the other
-- files, joined by UNION ALL. Each row is a fact: kind, table, name, property, value.
-- $1 is the database schema; $2 the relations, $3 the functions and $4 the domains to look at, null
-- for all.
WITH home AS MATERIALIZED (
  SELECT n.oid, n.nspname, n.nspacl, n.nspowner FROM pg_namespace n WHERE n.nspname = $1::text
), ours AS MATERIALIZED (
  SELECT c.oid, c.relname, c.relkind, c.relowner, c.relacl, c.relpersistence, c.relam, c.relreplident,
         c.relrowsecurity, c.relforcerowsecurity, c.relispartition, c.relpartbound, c.reloptions, c.reltoastrelid
    FROM pg_class c
    JOIN home ON home.oid = c.relnamespace
   WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
     AND ($2::text[] IS NULL OR c.relname::text = ANY ($2::text[]))
     -- The sequence behind an identity column is told with its column.
     AND NOT EXISTS (SELECT FROM pg_depend d
                      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i' AND c.relkind = 'S')
), tables AS MATERIALIZED (
  SELECT * FROM ours WHERE relkind IN ('r', 'p', 'f', 'm')
), functions AS MATERIALIZED (
  SELECT p.*, p.proname || '(' || oidvectortypes(p.proargtypes) || ')' AS signature
    FROM pg_proc p
    JOIN home ON home.oid = p.pronamespace
   WHERE $3::text[] IS NULL OR p.proname::text = ANY ($3::text[])
), domains AS MATERIALIZED (
  SELECT y.*
    FROM pg_type y
    JOIN home ON home.oid = y.typnamespace
   WHERE y.typtype = 'd' AND ($4::text[] IS NULL OR y.typname::text = ANY ($4::text[]))
), keeper AS (
  -- Whose tables these are. A view, and a function that runs as its owner, must belong to
  -- somebody with the rights of this role.
  SELECT coalesce((SELECT o.relowner FROM ours o WHERE o.relname = 'holdfast_schema'),
                  (SELECT home.nspowner FROM home)) AS oid
)
