-- The transaction ids of every component are of this cluster now.
UPDATE {{schema}}.holdfast_schema SET system_identifier = (pg_catalog.pg_control_system()).system_identifier
