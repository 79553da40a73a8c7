-- What is installed, and in which cluster that was beside the cluster of now.
SELECT s.component, s.version, s.checksum, s.parameters::text, s.system_identifier,
       (pg_catalog.pg_control_system()).system_identifier
  FROM {{.Schema}}.holdfast_schema AS s
 ORDER BY s.component COLLATE "C"
