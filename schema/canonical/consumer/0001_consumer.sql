-- What a consumer knows of the events that it was given: facts, deliveries, what needs a
-- person. It lies in the consumer's own database and needs no other component.

CREATE SCHEMA IF NOT EXISTS {{.Schema}};

-- What is installed here. The component outbox has the same table; whichever comes first
-- makes it.
CREATE TABLE IF NOT EXISTS {{.Schema}}.holdfast_schema (
  component         text        NOT NULL PRIMARY KEY,
  version           integer     NOT NULL CHECK (version > 0),
  checksum          text        NOT NULL CHECK (checksum ~ '^[0-9a-f]{64}$'),
  parameters        jsonb       NOT NULL,
  system_identifier bigint      NOT NULL DEFAULT (pg_catalog.pg_control_system()).system_identifier,
  installed_at      timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);

-- The rules for the values of a fact and of a delivery. They are domains, because the server parses and
-- compiles the CHECKs of a table again for every INSERT, which was most of what a row cost;
-- the constraints of a domain it compiles once in a session. Each bears the name that the server gives
-- to the CHECK of a column.
CREATE DOMAIN {{.Schema}}.consumer_fact_source AS text CONSTRAINT consumer_fact_source_check CHECK (octet_length(value) BETWEEN 1 AND 512);
CREATE DOMAIN {{.Schema}}.consumer_fact_account_id AS text CONSTRAINT consumer_fact_account_id_check CHECK (octet_length(value) BETWEEN 1 AND 255);
CREATE DOMAIN {{.Schema}}.consumer_fact_fact_type AS text CONSTRAINT consumer_fact_fact_type_check CHECK (octet_length(value) BETWEEN 1 AND 255);
CREATE DOMAIN {{.Schema}}.consumer_fact_fact_key AS text CONSTRAINT consumer_fact_fact_key_check CHECK (octet_length(value) BETWEEN 1 AND 512);
CREATE DOMAIN {{.Schema}}.consumer_fact_event_source AS text CONSTRAINT consumer_fact_event_source_check CHECK (octet_length(value) BETWEEN 1 AND 1024);
CREATE DOMAIN {{.Schema}}.consumer_fact_event_id AS text CONSTRAINT consumer_fact_event_id_check CHECK (octet_length(value) BETWEEN 1 AND 255);
CREATE DOMAIN {{.Schema}}.consumer_fact_attributes AS jsonb CONSTRAINT consumer_fact_attributes_check CHECK (jsonb_typeof(value) = 'object');
CREATE DOMAIN {{.Schema}}.consumer_inbox_deliveries AS integer CONSTRAINT consumer_inbox_deliveries_check CHECK (value > 0);
CREATE DOMAIN {{.Schema}}.consumer_inbox_consumer AS text CONSTRAINT consumer_inbox_consumer_check CHECK (octet_length(value) BETWEEN 1 AND 64);
CREATE DOMAIN {{.Schema}}.consumer_inbox_event_source AS text CONSTRAINT consumer_inbox_event_source_check CHECK (octet_length(value) BETWEEN 1 AND 1024);
CREATE DOMAIN {{.Schema}}.consumer_inbox_event_id AS text CONSTRAINT consumer_inbox_event_id_check CHECK (octet_length(value) BETWEEN 1 AND 255);

-- One row for each economic fact, for ever, whatever later happens to its effect. The
-- identity is the arbiter between deliveries: concurrent claims wait on it. Attributes
-- may differ between two tellings of a fact, so they are compared and are no part of it.
CREATE TABLE {{.Schema}}.consumer_fact (
  id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  source       {{.Schema}}.consumer_fact_source NOT NULL,
  account_id   {{.Schema}}.consumer_fact_account_id NOT NULL,
  fact_type    {{.Schema}}.consumer_fact_fact_type NOT NULL,
  fact_key     {{.Schema}}.consumer_fact_fact_key NOT NULL,
  -- Who told it first; no part of the identity, because another event may tell it again.
  event_source {{.Schema}}.consumer_fact_event_source NOT NULL,
  event_id     {{.Schema}}.consumer_fact_event_id NOT NULL,
  attributes   {{.Schema}}.consumer_fact_attributes NOT NULL,
  CONSTRAINT consumer_fact_identity UNIQUE (source, account_id, fact_type, fact_key)
);

-- An audit of deliveries. It never authorises an acknowledgement, and may be pruned.
CREATE TABLE {{.Schema}}.consumer_inbox (
  received_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  processed_at timestamptz,
  deliveries   {{.Schema}}.consumer_inbox_deliveries NOT NULL DEFAULT 1,
  consumer     {{.Schema}}.consumer_inbox_consumer NOT NULL,
  event_source {{.Schema}}.consumer_inbox_event_source NOT NULL,
  event_id     {{.Schema}}.consumer_inbox_event_id NOT NULL,
  CONSTRAINT consumer_inbox_pkey PRIMARY KEY (consumer, event_source, event_id)
) WITH (fillfactor = 80);
CREATE INDEX consumer_inbox_received ON {{.Schema}}.consumer_inbox (received_at);

-- Events that tell a known fact in another way. They had no effect, and a person decides.
-- The difference names attributes and has digests of their values, never the values.
CREATE TABLE {{.Schema}}.consumer_quarantine (
  id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fact_id      bigint      NOT NULL REFERENCES {{.Schema}}.consumer_fact (id),
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  resolved_at  timestamptz,
  consumer     text        NOT NULL CHECK (octet_length(consumer) BETWEEN 1 AND 64),
  event_source text        NOT NULL CHECK (octet_length(event_source) BETWEEN 1 AND 1024),
  event_id     text        NOT NULL CHECK (octet_length(event_id) BETWEEN 1 AND 255),
  event_type   text        NOT NULL CHECK (octet_length(event_type) BETWEEN 1 AND 255),
  reason       text        NOT NULL CHECK (reason IN ('attribute_mismatch', 'ambiguous')),
  state        text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'resolved')),
  resolved_by  text        CHECK (octet_length(resolved_by) BETWEEN 1 AND 255),
  resolution   text        CHECK (octet_length(resolution) BETWEEN 1 AND 1000),
  difference   jsonb       NOT NULL CHECK (jsonb_typeof(difference) = 'object'),
  CONSTRAINT consumer_quarantine_event UNIQUE (consumer, event_source, event_id, fact_id),
  CONSTRAINT consumer_quarantine_resolved CHECK
    (CASE state WHEN 'open' THEN num_nonnulls(resolved_at, resolved_by, resolution) = 0
                ELSE num_nulls(resolved_at, resolved_by, resolution) = 0 END)
);
CREATE INDEX consumer_quarantine_open ON {{.Schema}}.consumer_quarantine (created_at) WHERE state = 'open';

-- Messages that were given up. The row is written before the broker is told. It has no
-- payload: the message is in the stream, at stream_seq.
CREATE TABLE {{.Schema}}.consumer_dead_letter (
  id                   bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream_seq           bigint      NOT NULL CHECK (stream_seq > 0),
  dead_at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  claim_until          timestamptz,
  claim_token          uuid,
  attempts             integer     NOT NULL CHECK (attempts > 0),
  consumer             text        NOT NULL CHECK (octet_length(consumer) BETWEEN 1 AND 64),
  stream               text        NOT NULL CHECK (octet_length(stream) BETWEEN 1 AND 255),
  -- Of an event; a message that is none has neither.
  event_source         text        CHECK (octet_length(event_source) BETWEEN 1 AND 1024),
  event_id             text        CHECK (octet_length(event_id) BETWEEN 1 AND 255),
  event_type           text        CHECK (octet_length(event_type) BETWEEN 1 AND 255),
  -- A code of a closed set and a digest: the text of an error is never stored.
  reason_code          text        NOT NULL CHECK (reason_code IN ('not_an_event', 'malformed', 'permanent', 'exhausted', 'panicked')),
  reason_detail_sha256 bytea       NOT NULL CHECK (octet_length(reason_detail_sha256) = 32),
  state                text        NOT NULL DEFAULT 'dead' CHECK (state IN ('dead', 'replay_requested', 'replaying', 'resolved', 'discarded')),
  CONSTRAINT consumer_dead_letter_message UNIQUE (consumer, stream, stream_seq),
  CONSTRAINT consumer_dead_letter_event CHECK (num_nulls(event_source, event_id, event_type) IN (0, 3)),
  CONSTRAINT consumer_dead_letter_claim CHECK ((state = 'replaying') = (claim_token IS NOT NULL) AND (claim_token IS NULL) = (claim_until IS NULL))
);
CREATE INDEX consumer_dead_letter_state ON {{.Schema}}.consumer_dead_letter (consumer, state, dead_at);

-- What happened to dead letters, oldest first; kept when the dead letter is gone.
CREATE TABLE {{.Schema}}.consumer_dead_letter_history (
  id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  dead_letter_id bigint      NOT NULL,
  stream_seq     bigint      NOT NULL,
  at             timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts       integer     NOT NULL,
  consumer       text        NOT NULL,
  stream         text        NOT NULL,
  state          text        NOT NULL,
  actor          text        NOT NULL CHECK (octet_length(actor) BETWEEN 1 AND 255),
  reason         text        NOT NULL CHECK (octet_length(reason) BETWEEN 1 AND 1000)
);
CREATE INDEX consumer_dead_letter_history_of ON {{.Schema}}.consumer_dead_letter_history (dead_letter_id, id);

-- The switch of a group of consumers. A group without a row runs.
CREATE TABLE {{.Schema}}.consumer_control (
  changed_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  consumer_group text        NOT NULL CHECK (octet_length(consumer_group) BETWEEN 1 AND 64),
  state          text        NOT NULL CHECK (state IN ('running', 'paused')),
  changed_by     text        NOT NULL CHECK (octet_length(changed_by) BETWEEN 1 AND 255),
  reason         text        NOT NULL CHECK (octet_length(reason) BETWEEN 1 AND 1000),
  CONSTRAINT consumer_control_pkey PRIMARY KEY (consumer_group)
);

-- The ledger of automatic repairs: what was removed or marked, and as what it stays.
CREATE TABLE {{.Schema}}.consumer_repair (
  id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  relation     text        NOT NULL CHECK (octet_length(relation) BETWEEN 1 AND 255),
  canonical_id text        NOT NULL CHECK (octet_length(canonical_id) BETWEEN 1 AND 255),
  duplicate_id text        NOT NULL CHECK (octet_length(duplicate_id) BETWEEN 1 AND 255),
  prior_status text        NOT NULL CHECK (octet_length(prior_status) <= 255),
  reason       text        NOT NULL CHECK (octet_length(reason) BETWEEN 1 AND 1000),
  row_snapshot jsonb       NOT NULL CHECK (jsonb_typeof(row_snapshot) = 'object'),
  CONSTRAINT consumer_repair_duplicate UNIQUE (relation, duplicate_id),
  CONSTRAINT consumer_repair_two CHECK (canonical_id <> duplicate_id)
);

-- A value is judged without any right on its domain; USAGE would let anybody make columns that
-- forbid to drop or to change it.
REVOKE ALL ON DOMAIN
  {{.Schema}}.consumer_fact_source,
  {{.Schema}}.consumer_fact_account_id,
  {{.Schema}}.consumer_fact_fact_type,
  {{.Schema}}.consumer_fact_fact_key,
  {{.Schema}}.consumer_fact_event_source,
  {{.Schema}}.consumer_fact_event_id,
  {{.Schema}}.consumer_fact_attributes,
  {{.Schema}}.consumer_inbox_deliveries,
  {{.Schema}}.consumer_inbox_consumer,
  {{.Schema}}.consumer_inbox_event_source,
  {{.Schema}}.consumer_inbox_event_id
FROM PUBLIC;
