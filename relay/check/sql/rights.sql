-- Rights that are not as they should be: $2 and $3 name tables and privileges, $4 says whether the
-- role should have each. A table that does not exist is reported elsewhere. A column counts as
-- much as its table when a right should not be there.
SELECT '' AS relation, 'USAGE' AS privilege, true AS wanted
  FROM pg_namespace n
 WHERE n.nspname = $1 AND NOT has_schema_privilege(n.oid, 'USAGE')
UNION ALL
SELECT w.relation, w.privilege, w.wanted
  FROM unnest($2::text[], $3::text[], $4::boolean[]) AS w (relation, privilege, wanted)
  JOIN pg_class c ON c.relname = w.relation
  JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = $1
 WHERE has_table_privilege(c.oid, w.privilege) IS DISTINCT FROM w.wanted
    OR NOT w.wanted AND w.privilege IN ('INSERT', 'UPDATE') AND has_any_column_privilege(c.oid, w.privilege)
