-- The outbox: an append-only log of events, written by producers in the
-- transaction that writes their business rows, and read by relays.

CREATE SCHEMA IF NOT EXISTS {{.Schema}};

-- What is installed here, and in which cluster. Transaction ids mean nothing in
-- another cluster, so a relay refuses a database whose system identifier is
-- not the one below, and names `relay rebase`. The component consumer has the same
-- table; whichever comes first makes it.
CREATE TABLE IF NOT EXISTS {{.Schema}}.holdfast_schema (
  component         text        NOT NULL PRIMARY KEY,
  version           integer     NOT NULL CHECK (version > 0),
  checksum          text        NOT NULL CHECK (checksum ~ '^[0-9a-f]{64}$'),
  parameters        jsonb       NOT NULL,
  system_identifier bigint      NOT NULL DEFAULT (pg_catalog.pg_control_system()).system_identifier,
  installed_at      timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);

-- Positions. CACHE must stay 1: with a cache a session would hand out old
-- numbers after another session's newer ones, and a key would lose its order.
CREATE SEQUENCE {{.Schema}}.event_outbox_seq AS bigint CACHE 1;

-- The rules for the values of an event make a row that no broker would take impossible to commit.
-- Together they keep the header block of a message under 64 KiB even when every character has
-- to be percent-encoded.
--
-- They are domains, because the server parses and compiles the CHECKs of a table again for every
-- INSERT, which was most of what a row cost; the constraints of a domain it compiles once in a
-- session. The columns keep the plain types: a driver that asks the server for the type
-- of a parameter may not know what to make of a domain. One CHECK casts each column to its domain.
-- Errors bear the name of the constraint, and have no row in them.
--
-- BETWEEN comes last: the server writes it in front in another way once the database
-- was dumped and restored, and a comparison of catalogs would see another constraint.
CREATE DOMAIN {{.Schema}}.event_outbox_event_id AS text CONSTRAINT event_outbox_event_id CHECK
  (value COLLATE "C" !~ '[\u0001-\u001f\u007f-\u009f]' AND octet_length(value) BETWEEN 1 AND 255);
CREATE DOMAIN {{.Schema}}.event_outbox_source AS text CONSTRAINT event_outbox_source CHECK
  (value COLLATE "C" !~ '[\u0001-\u0020\u007f-\u009f]' AND octet_length(value) BETWEEN 1 AND 1024);
-- The type becomes part of a NATS subject: dotted tokens of printable ASCII,
-- without wildcards, white space or empty tokens.
CREATE DOMAIN {{.Schema}}.event_outbox_type AS text CONSTRAINT event_outbox_type CHECK
  (octet_length(value) <= 255 AND value COLLATE "C" ~ '^[!-#%-)+,/-=?-~-][!-)+,/-=?-~-]*(\.[!-)+,/-=?-~-]+)*$');
CREATE DOMAIN {{.Schema}}.event_outbox_subject AS text CONSTRAINT event_outbox_subject CHECK
  (value COLLATE "C" !~ '[\u0001-\u001f\u007f-\u009f]' AND octet_length(value) BETWEEN 1 AND 1024);
CREATE DOMAIN {{.Schema}}.event_outbox_datacontenttype AS text CONSTRAINT event_outbox_datacontenttype CHECK
  (octet_length(value) <= 255 AND value COLLATE "C" ~ '^[!#$&^_.+A-Za-z0-9-]+/[!#$&^_.+A-Za-z0-9-]+( *;[ -~]*)?$');
CREATE DOMAIN {{.Schema}}.event_outbox_dataschema AS text CONSTRAINT event_outbox_dataschema CHECK
  (octet_length(value) <= 1024 AND value COLLATE "C" ~ '^[A-Za-z][A-Za-z0-9+.-]*:[^\u0001-\u0020\u007f-\u009f]+$');
CREATE DOMAIN {{.Schema}}.event_outbox_partition_key AS text CONSTRAINT event_outbox_partition_key CHECK
  (value COLLATE "C" !~ '[\u0001-\u001f\u007f-\u009f]' AND octet_length(value) BETWEEN 1 AND 255);
CREATE DOMAIN {{.Schema}}.event_outbox_time AS timestamptz CONSTRAINT event_outbox_time CHECK
  (value >= '0001-01-01 00:00:00+00' AND value < '10000-01-01 00:00:00+00');
-- Extension names by the CloudEvents grammar, none of them a core attribute;
-- values are strings without control characters, booleans or 32-bit integers.
CREATE DOMAIN {{.Schema}}.event_outbox_extensions AS jsonb CONSTRAINT event_outbox_extensions CHECK
  (jsonb_typeof(value) = 'object'
   AND (value = '{}'::jsonb OR
    (octet_length(value::text) <= 8192
     AND NOT value ?| ARRAY['id','source','type','specversion','subject','time','datacontenttype','dataschema','data','partitionkey']
     AND NOT jsonb_path_exists(value, 'strict $.keyvalue() ? (!(@.key like_regex "^[a-z0-9]{1,20}$"))')
     AND NOT jsonb_path_exists(value, 'strict $.* ? (@.type() == "object" || @.type() == "array" || @.type() == "null")')
     AND NOT jsonb_path_exists(value, 'strict $.* ? (@.type() == "number" && (@ < -2147483648 || @ > 2147483647 || @ != @.floor()))')
     AND NOT jsonb_path_exists(value, 'strict $.* ? (@ like_regex "[\\u0001-\\u001f\\u007f-\\u009f]")'))));
CREATE DOMAIN {{.Schema}}.event_outbox_data AS bytea CONSTRAINT event_outbox_data CHECK (octet_length(value) <= {{.MaxEventBytes}});

-- Columns of fixed width come first, so that no row carries padding.
CREATE TABLE {{.Schema}}.event_outbox (
  -- Position in the log. A release assigns a new one.
  seq               bigint      NOT NULL DEFAULT nextval('{{.Schema}}.event_outbox_seq'),
  -- The transaction that made the row visible to relays; NULL while held.
  -- A top-level id, also inside a savepoint, so that snapshots decide exactly.
  tx                xid8        DEFAULT pg_current_xact_id(),
  staged_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  time              timestamptz,
  hold_generation   integer,
  -- Retention slot. A slot is emptied by TRUNCATE, never row by row.
  slot              smallint    NOT NULL DEFAULT {{.SlotExpr}},
  -- A key lives in one lane, so one relay at a time publishes it. The collation
  -- is named so that the same key gives the same lane in every database.
  lane              smallint    NOT NULL GENERATED ALWAYS AS
    (((hashtextextended(coalesce(partition_key, event_id) COLLATE "C", 0) % {{.Lanes}} + {{.Lanes}}) % {{.Lanes}})::smallint) STORED,
  -- Provenance of a held event; kept for ever, also after its release.
  hold_operation_id uuid,
  event_id          text        NOT NULL,
  source            text        NOT NULL,
  type              text        NOT NULL,
  subject           text,
  datacontenttype   text,
  dataschema        text,
  partition_key     text,
  extensions        jsonb       NOT NULL DEFAULT '{}',
  -- Bytes, not json: nothing is parsed and it arrives bit for bit.
  data              bytea,

  CONSTRAINT event_outbox_pkey PRIMARY KEY (lane, seq, slot),

  -- Every value keeps the rule of its domain, above. The count is never negative: the casts are
  -- what this is for.
  CONSTRAINT event_outbox_values CHECK (num_nulls(
    event_id::{{.Schema}}.event_outbox_event_id, source::{{.Schema}}.event_outbox_source, type::{{.Schema}}.event_outbox_type,
    subject::{{.Schema}}.event_outbox_subject, datacontenttype::{{.Schema}}.event_outbox_datacontenttype,
    dataschema::{{.Schema}}.event_outbox_dataschema, partition_key::{{.Schema}}.event_outbox_partition_key,
    time::{{.Schema}}.event_outbox_time, extensions::{{.Schema}}.event_outbox_extensions, data::{{.Schema}}.event_outbox_data) >= 0),
  -- An operation and its generation come together.
  CONSTRAINT event_outbox_hold CHECK
    ((hold_operation_id IS NULL) = (hold_generation IS NULL) AND hold_generation > 0),
  -- Only an event with an operation may be without a position.
  CONSTRAINT event_outbox_held CHECK (tx IS NOT NULL OR hold_operation_id IS NOT NULL)
) PARTITION BY LIST (slot);

-- Rows are written once and truncated with their slot, so pages are filled
-- and no insert-driven vacuum is worth its cost. Dead rows come only from
-- released and cancelled holds; the ordinary vacuum threshold looks after them.
{{- range .SlotNumbers}}
CREATE TABLE {{$.Schema}}.event_outbox_{{.}} PARTITION OF {{$.Schema}}.event_outbox FOR VALUES IN ({{.}})
  WITH (fillfactor = 100, autovacuum_vacuum_insert_threshold = -1, toast.autovacuum_vacuum_insert_threshold = -1);
{{- end}}

-- What a relay reads: the rows of a lane by the transaction that made them
-- visible. Held rows are not in it.
CREATE INDEX event_outbox_lane_tx ON {{.Schema}}.event_outbox (lane, tx) WHERE tx IS NOT NULL;
-- What a release or a cancel finds: the held rows of one generation.
CREATE INDEX event_outbox_held ON {{.Schema}}.event_outbox (hold_operation_id, hold_generation) WHERE tx IS NULL;

-- What people may see of an event: everything but its payload. A view reads with
-- the rights of its owner, so whoever reads it needs none on the table.
CREATE VIEW {{.Schema}}.event_outbox_info AS
SELECT event_id, source, type, subject, "time", partition_key, datacontenttype, dataschema, extensions,
       octet_length(data) AS data_bytes, tx IS NULL AS held, hold_operation_id, hold_generation, staged_at, lane, seq, slot, tx
  FROM {{.Schema}}.event_outbox;

-- uuid_v7() makes an event id: time-ordered, version 7 of RFC 9562.
CREATE FUNCTION {{.Schema}}.uuid_v7() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT encode(set_bit(set_bit(
    overlay(uuid_send(gen_random_uuid())
            PLACING substring(int8send(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
            FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- The functions whose names begin with an underscore are internal.

-- _invalid raises the error for an event that the outbox refuses.
CREATE FUNCTION {{.Schema}}._invalid(event_id text, field text, problem text, advice text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION USING
    ERRCODE = 'HF001',
    MESSAGE = format('event %s: %s: %s', quote_nullable(left(event_id, 64)), field, problem),
    DETAIL  = format('field=%s', field),
    HINT    = advice;
END
$$;

-- _uuid, _timestamp, _extensions and _base64 turn text into values. Each catches only the
-- error of its own cast, and no write happens inside the caught block.
CREATE FUNCTION {{.Schema}}._uuid(value text, field text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN value::uuid;
EXCEPTION WHEN invalid_text_representation THEN
  RAISE EXCEPTION USING
    ERRCODE = 'HF002',
    MESSAGE = format('%s: %s is not a UUID', field, quote_nullable(left(value, 64))),
    DETAIL  = format('field=%s', field),
    HINT    = 'Pass the id in the form 0190b0c4-7d1e-7c1e-8a44-5a3c2c1f9d10.';
END
$$;

CREATE FUNCTION {{.Schema}}._timestamp(event_id text, value text) RETURNS timestamptz
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
BEGIN
  IF value COLLATE "C" !~ '^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$' THEN
    PERFORM {{.Schema}}._invalid(event_id, 'time', format('%s is not an RFC 3339 time', quote_literal(left(value, 64))),
      'Pass a time such as 2026-11-29T10:00:00Z, with a zone.');
  END IF;
  RETURN value::timestamptz;
EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format OR invalid_time_zone_displacement_value THEN
  PERFORM {{.Schema}}._invalid(event_id, 'time', format('%s is not a time', quote_literal(left(value, 64))),
    'Pass a time such as 2026-11-29T10:00:00Z, with a zone.');
END
$$;

CREATE FUNCTION {{.Schema}}._extensions(event_id text, value text) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN coalesce(value, '{}')::jsonb;
EXCEPTION WHEN invalid_text_representation OR untranslatable_character OR numeric_value_out_of_range OR statement_too_complex THEN
  PERFORM {{.Schema}}._invalid(event_id, 'extensions', 'is not a JSON object',
    'Pass extensions as the text of a JSON object, such as {"tenant":"a"}; without \u0000.');
END
$$;

CREATE FUNCTION {{.Schema}}._base64(event_id text, value text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN decode(value, 'base64');
EXCEPTION WHEN invalid_parameter_value THEN
  PERFORM {{.Schema}}._invalid(event_id, 'data', 'is not base64', 'Encode the payload as standard base64 with padding, or call publish or publish_text.');
END
$$;

-- _stage_one validates one event as the domains do, but with errors that name the
-- field, and writes it: with a position when operation is null, held otherwise.
CREATE FUNCTION {{.Schema}}._stage_one(
  operation uuid, generation integer,
  source text, type text, data bytea, id text, subject text, "time" text,
  datacontenttype text, dataschema text, partitionkey text, extensions text
) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  new_id   text        := coalesce(_stage_one.id, {{.Schema}}.uuid_v7()::text);
  new_time timestamptz := coalesce({{.Schema}}._timestamp(new_id, _stage_one."time"), clock_timestamp());
  ext      jsonb       := {{.Schema}}._extensions(new_id, _stage_one.extensions);
  control  CONSTANT text := '[\u0001-\u001f\u007f-\u009f]';
BEGIN
  -- An optional guard for what forgetting BEGIN looks like: nothing was written
  -- in this transaction before the event.
  IF current_setting('holdfast.guard', true) = 'warn' AND pg_current_xact_id_if_assigned() IS NULL THEN
    RAISE WARNING USING
      ERRCODE = 'HF003',
      MESSAGE = 'publish is the first write of its transaction',
      HINT    = 'Call publish after your own writes, in the same transaction; check that BEGIN was sent.';
  END IF;

  IF new_time < '0001-01-01 00:00:00+00' OR new_time >= '10000-01-01 00:00:00+00' THEN
    PERFORM {{.Schema}}._invalid(new_id, 'time', 'must be in the years 1 to 9999', 'Leave time null to get the clock of the database.');
  END IF;
  IF octet_length(new_id) NOT BETWEEN 1 AND 255 OR new_id COLLATE "C" ~ control THEN
    PERFORM {{.Schema}}._invalid(new_id, 'id', 'must be 1 to 255 bytes without control characters', 'Leave id null to get a UUIDv7.');
  END IF;
  IF source IS NULL OR octet_length(source) NOT BETWEEN 1 AND 1024 OR source COLLATE "C" ~ '[\u0001-\u0020\u007f-\u009f]' THEN
    PERFORM {{.Schema}}._invalid(new_id, 'source', 'must be a URI reference of 1 to 1024 bytes without white space or control characters',
      'Name the producer, such as /orders or https://example.com/orders.');
  END IF;
  IF type IS NULL OR octet_length(type) > 255 OR type COLLATE "C" !~ '^[!-#%-)+,/-=?-~-][!-)+,/-=?-~-]*(\.[!-)+,/-=?-~-]+)*$' THEN
    PERFORM {{.Schema}}._invalid(new_id, 'type', 'must be dotted tokens of printable ASCII without * > $ in front, white space or empty tokens, 255 bytes at most',
      'The type becomes part of a NATS subject: use a name such as order.placed.');
  END IF;
  IF octet_length(subject) NOT BETWEEN 1 AND 1024 OR subject COLLATE "C" ~ control THEN
    PERFORM {{.Schema}}._invalid(new_id, 'subject', 'must be 1 to 1024 bytes without control characters', 'Leave subject null when there is none.');
  END IF;
  IF octet_length(datacontenttype) > 255 OR datacontenttype COLLATE "C" !~ '^[!#$&^_.+A-Za-z0-9-]+/[!#$&^_.+A-Za-z0-9-]+( *;[ -~]*)?$' THEN
    PERFORM {{.Schema}}._invalid(new_id, 'datacontenttype', 'must be a media type of 255 bytes at most', 'Use a media type such as application/json.');
  END IF;
  IF octet_length(dataschema) > 1024 OR dataschema COLLATE "C" !~ '^[A-Za-z][A-Za-z0-9+.-]*:[^\u0001-\u0020\u007f-\u009f]+$' THEN
    PERFORM {{.Schema}}._invalid(new_id, 'dataschema', 'must be an absolute URI of 1024 bytes at most', 'Use a URI such as https://example.com/schemas/order.json.');
  END IF;
  IF octet_length(partitionkey) NOT BETWEEN 1 AND 255 OR partitionkey COLLATE "C" ~ control THEN
    PERFORM {{.Schema}}._invalid(new_id, 'partitionkey', 'must be 1 to 255 bytes without control characters', 'Leave partitionkey null for an event without order.');
  END IF;
  IF octet_length(data) > {{.MaxEventBytes}} THEN
    PERFORM {{.Schema}}._invalid(new_id, 'data', format('has %s bytes, more than {{.MaxEventBytes}}', octet_length(data)),
      'Store large content elsewhere and publish a reference to it.');
  END IF;
  IF ext <> '{}'::jsonb THEN
    PERFORM {{.Schema}}._check_extensions(new_id, ext);
    -- An integer is stored as one, also when it came as 1.0, which jsonb would keep.
    IF jsonb_path_exists(ext, 'strict $.* ? (@.type() == "number")') THEN
      SELECT jsonb_object_agg(x.key, CASE jsonb_typeof(x.value) WHEN 'number' THEN to_jsonb(trim_scale(x.value::numeric)) ELSE x.value END)
        INTO ext FROM jsonb_each(ext) AS x;
    END IF;
  END IF;

  INSERT INTO {{.Schema}}.event_outbox AS e
    (tx, "time", hold_operation_id, hold_generation, event_id, source, type, subject,
     datacontenttype, dataschema, partition_key, extensions, data)
  VALUES
    (CASE WHEN operation IS NULL THEN pg_current_xact_id() END, new_time, operation, generation, new_id,
     _stage_one.source, _stage_one.type, _stage_one.subject, _stage_one.datacontenttype,
     _stage_one.dataschema, _stage_one.partitionkey, ext, _stage_one.data);
  RETURN new_id;
END
$$;

CREATE FUNCTION {{.Schema}}._check_extensions(event_id text, ext jsonb) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name text;
  val  jsonb;
BEGIN
  IF jsonb_typeof(ext) <> 'object' THEN
    PERFORM {{.Schema}}._invalid(event_id, 'extensions', 'is not a JSON object', 'Pass extensions as the text of a JSON object, such as {"tenant":"a"}.');
  END IF;
  IF octet_length(ext::text) > 8192 THEN
    PERFORM {{.Schema}}._invalid(event_id, 'extensions', 'are longer than 8192 bytes together', 'Put large values into data.');
  END IF;
  FOR name, val IN SELECT * FROM jsonb_each(ext) LOOP
    IF name COLLATE "C" !~ '^[a-z0-9]{1,20}$' THEN
      PERFORM {{.Schema}}._invalid(event_id, format('extension %s', quote_literal(left(name, 64))), 'must be 1 to 20 characters of a to z and 0 to 9',
        'CloudEvents extension names have no upper case, hyphen or underscore.');
    ELSIF name IN ('id','source','type','specversion','subject','time','datacontenttype','dataschema','data','partitionkey') THEN
      PERFORM {{.Schema}}._invalid(event_id, format('extension %s', quote_literal(name)), 'is an attribute of its own',
        'Pass it as the argument of that name.');
    ELSIF jsonb_typeof(val) IN ('object', 'array', 'null') THEN
      PERFORM {{.Schema}}._invalid(event_id, format('extension %s', quote_literal(name)), format('is a JSON %s', jsonb_typeof(val)),
        'Use a string, a boolean or a 32-bit integer.');
    ELSIF jsonb_typeof(val) = 'number' AND ((val #>> '{}')::numeric NOT BETWEEN -2147483648 AND 2147483647 OR (val #>> '{}')::numeric % 1 <> 0) THEN
      PERFORM {{.Schema}}._invalid(event_id, format('extension %s', quote_literal(name)), 'is not a 32-bit integer',
        'Send other numbers as strings.');
    ELSIF jsonb_typeof(val) = 'string' AND (val #>> '{}') COLLATE "C" ~ '[\u0001-\u001f\u007f-\u009f]' THEN
      PERFORM {{.Schema}}._invalid(event_id, format('extension %s', quote_literal(name)), 'has control characters',
        'Remove them or put the value into data.');
    END IF;
  END LOOP;
END
$$;

-- _stage writes many events in one call, in the order of the arrays. The
-- arrays are parallel. The constraints of the domains and of the table judge the rows.
CREATE FUNCTION {{.Schema}}._stage(
  operation uuid, generation integer,
  ids text[], sources text[], types text[], subjects text[], times text[],
  datacontenttypes text[], dataschemas text[], partitionkeys text[], extensions text[], data bytea[]
) RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  staged integer;
BEGIN
  -- unnest would fill a shorter array with nulls, and an event would lose its key or its
  -- payload without an error. An array that is null is absent for all events.
  IF array_position(ids, NULL) IS NOT NULL OR EXISTS (
    SELECT FROM unnest(ARRAY[cardinality(sources), cardinality(types), cardinality(subjects), cardinality(times), cardinality(datacontenttypes),
                             cardinality(dataschemas), cardinality(partitionkeys), cardinality(_stage.extensions), cardinality(_stage.data)]) AS size
     WHERE size <> coalesce(cardinality(ids), 0)) THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'ids: the arrays do not belong together', DETAIL = 'field=ids',
      HINT = 'Pass arrays of the same length, or null for what no event has; every event needs its id.';
  END IF;
  INSERT INTO {{.Schema}}.event_outbox
    (tx, "time", hold_operation_id, hold_generation, event_id, source, type, subject,
     datacontenttype, dataschema, partition_key, extensions, data)
  SELECT CASE WHEN operation IS NULL THEN pg_current_xact_id() END,
         coalesce(u.event_time::timestamptz, clock_timestamp()), operation, generation, u.event_id, u.source, u.type, u.subject,
         u.contenttype, u.dataschema, u.partitionkey, coalesce(u.ext::jsonb, '{}'::jsonb), u.payload
    FROM unnest(ids, sources, types, subjects, times, datacontenttypes, dataschemas, partitionkeys, _stage.extensions, _stage.data)
         WITH ORDINALITY AS u(event_id, source, type, subject, event_time, contenttype, dataschema, partitionkey, ext, payload, ord)
   ORDER BY u.ord;
  GET DIAGNOSTICS staged = ROW_COUNT;
  RETURN staged;
END
$$;

-- What producers call. Every argument is named; ids, times and extensions are text.

-- publish_events stages many events in one call.
CREATE FUNCTION {{.Schema}}.publish_events(
  ids text[], sources text[], types text[], subjects text[], times text[],
  datacontenttypes text[], dataschemas text[], partitionkeys text[], extensions text[], data bytea[]
) RETURNS integer
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT {{.Schema}}._stage(NULL, NULL, ids, sources, types, subjects, times, datacontenttypes, dataschemas, partitionkeys, extensions, data)
$$;

-- publish stages one event whose payload is bytes and returns its id.
CREATE FUNCTION {{.Schema}}.publish(
  source text, type text, data bytea DEFAULT NULL, id text DEFAULT NULL, subject text DEFAULT NULL, "time" text DEFAULT NULL,
  datacontenttype text DEFAULT 'application/json', dataschema text DEFAULT NULL, partitionkey text DEFAULT NULL, extensions text DEFAULT NULL
) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT {{.Schema}}._stage_one(NULL, NULL, source, type, data, id, subject, "time", datacontenttype, dataschema, partitionkey, extensions)
$$;

-- publish_text stages one event whose payload is the UTF-8 bytes of a text, unparsed.
CREATE FUNCTION {{.Schema}}.publish_text(
  source text, type text, data text DEFAULT NULL, id text DEFAULT NULL, subject text DEFAULT NULL, "time" text DEFAULT NULL,
  datacontenttype text DEFAULT 'application/json', dataschema text DEFAULT NULL, partitionkey text DEFAULT NULL, extensions text DEFAULT NULL
) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT {{.Schema}}._stage_one(NULL, NULL, source, type, convert_to(data, 'UTF8'), id, subject, "time", datacontenttype, dataschema, partitionkey, extensions)
$$;

-- publish_base64 stages one event whose payload comes as base64 (RFC 4648, white space allowed).
CREATE FUNCTION {{.Schema}}.publish_base64(
  source text, type text, data text DEFAULT NULL, id text DEFAULT NULL, subject text DEFAULT NULL, "time" text DEFAULT NULL,
  datacontenttype text DEFAULT 'application/json', dataschema text DEFAULT NULL, partitionkey text DEFAULT NULL, extensions text DEFAULT NULL
) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT {{.Schema}}._stage_one(NULL, NULL, source, type, {{.Schema}}._base64(id, data), id, subject, "time", datacontenttype, dataschema, partitionkey, extensions)
$$;

-- Rights are granted by name (outbox-gen roles), never to everybody. A value is judged without any
-- right on its domain; USAGE would let anybody make columns that forbid to drop or to change it.
REVOKE ALL ON DOMAIN
  {{.Schema}}.event_outbox_event_id,
  {{.Schema}}.event_outbox_source,
  {{.Schema}}.event_outbox_type,
  {{.Schema}}.event_outbox_subject,
  {{.Schema}}.event_outbox_datacontenttype,
  {{.Schema}}.event_outbox_dataschema,
  {{.Schema}}.event_outbox_partition_key,
  {{.Schema}}.event_outbox_time,
  {{.Schema}}.event_outbox_extensions,
  {{.Schema}}.event_outbox_data
FROM PUBLIC;

-- PUBLIC could otherwise call also the internal functions.
REVOKE ALL ON FUNCTION
  {{.Schema}}.uuid_v7(),
  {{.Schema}}._invalid(text, text, text, text),
  {{.Schema}}._uuid(text, text),
  {{.Schema}}._timestamp(text, text),
  {{.Schema}}._extensions(text, text),
  {{.Schema}}._base64(text, text),
  {{.Schema}}._stage_one(uuid, integer, text, text, bytea, text, text, text, text, text, text, text),
  {{.Schema}}._check_extensions(text, jsonb),
  {{.Schema}}._stage(uuid, integer, text[], text[], text[], text[], text[], text[], text[], text[], text[], bytea[]),
  {{.Schema}}.publish_events(text[], text[], text[], text[], text[], text[], text[], text[], text[], bytea[]),
  {{.Schema}}.publish(text, text, bytea, text, text, text, text, text, text, text),
  {{.Schema}}.publish_text(text, text, text, text, text, text, text, text, text, text),
  {{.Schema}}.publish_base64(text, text, text, text, text, text, text, text, text, text)
FROM PUBLIC;
