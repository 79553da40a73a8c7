-- The server writes definitions as the session's settings say. These last until the end of
-- the transaction, or until the rollback to the savepoint. An empty search path has every
-- name written in full.
SELECT current_setting('server_version_num')::integer / 10000
  FROM (SELECT set_config('search_path', 'pg_catalog, pg_temp', true),
               set_config('quote_all_identifiers', 'off', true),
               set_config('standard_conforming_strings', 'on', true),
               set_config('timezone', 'UTC', true),
               set_config('datestyle', 'ISO, YMD', true),
               set_config('intervalstyle', 'iso_8601', true),
               set_config('extra_float_digits', '1', true),
               set_config('bytea_output', 'hex', true),
               set_config('jit', 'off', true)
        OFFSET 0) AS s
