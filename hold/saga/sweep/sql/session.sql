-- Which database this is, and what the login is beside an operator. Whoever may insert into the log is a
-- producer, as the service itself is.
SELECT c.system_identifier::text, d.oid::text, d.datname::text, clock_timestamp(),
       r.rolsuper, pg_has_role(n.nspowner, 'MEMBER'), has_any_column_privilege('{{.Schema}}.event_outbox'::regclass, 'INSERT')
  FROM pg_catalog.pg_control_system() AS c, pg_catalog.pg_database AS d, pg_catalog.pg_roles AS r, pg_catalog.pg_namespace AS n
 WHERE d.datname = current_database() AND r.rolname = current_user AND n.nspname = '{{.Schema}}'
