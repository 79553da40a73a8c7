-- A version that is only for tests, with the changes that docs/schema-changes.md allows.

-- A new column is nullable and has no default, so that no row is written anew.
ALTER TABLE {{.Schema}}.event_outbox ADD COLUMN note text;

-- A function with another body keeps its name, its arguments and its rights.
CREATE OR REPLACE FUNCTION {{.Schema}}.uuid_v7() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT encode(set_bit(set_bit(
    overlay(uuid_send(gen_random_uuid())
            PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
            FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- A new function is for the new release alone.
CREATE FUNCTION {{.Schema}}.fixture() RETURNS integer
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT 2
$$;
REVOKE ALL ON FUNCTION {{.Schema}}.fixture() FROM PUBLIC;
