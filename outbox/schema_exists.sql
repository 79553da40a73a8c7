-- Asks without an error, which would abort the caller's transaction.
SELECT to_regclass('{{.Schema}}.holdfast_schema') IS NOT NULL
