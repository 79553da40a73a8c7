-- The relay's own state: cursors and leases, retries, dead letters, batches.
-- Needs the component outbox. The relay writes here and never to the log.

-- One row per relay group and lane. Group "default" drains to the broker; a second
-- group drains the same log to another one. Settling must not touch an index, so
-- that it is a HOT update, and pages have room for the new versions.
CREATE TABLE {{.Schema}}.outbox_lane (
  lane        smallint    NOT NULL CHECK (lane >= 0),
  -- A stream sequence before which nothing unsettled of this lane can be.
  stream_seq  bigint      NOT NULL DEFAULT 0 CHECK (stream_seq >= 0),
  -- While a backlog is paged: rows visible in target, not in drained, with seq <= pos, are settled.
  pos         bigint,
  lease_until timestamptz,
  lease_token uuid,
  -- Every row of the lane that is visible in this snapshot has been settled.
  drained     pg_snapshot NOT NULL DEFAULT '1:1:',
  target      pg_snapshot,
  lease_owner text        CHECK (octet_length(lease_owner) BETWEEN 1 AND 128),
  relay_group text        NOT NULL CHECK (octet_length(relay_group) BETWEEN 1 AND 64),
  CONSTRAINT outbox_lane_pkey PRIMARY KEY (relay_group, lane),
  CONSTRAINT outbox_lane_paging CHECK ((target IS NULL) = (pos IS NULL)),
  CONSTRAINT outbox_lane_lease CHECK (num_nulls(lease_owner, lease_token, lease_until) IN (0, 3))
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

INSERT INTO {{.Schema}}.outbox_lane (relay_group, lane)
SELECT 'default', n FROM generate_series(0, {{.Lanes}} - 1) AS n;

-- Which relay pods are alive: what a pod's fair share of the lanes is computed from.
CREATE TABLE {{.Schema}}.outbox_relay (
  started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  alive_until timestamptz NOT NULL,
  relay_group text        NOT NULL CHECK (octet_length(relay_group) BETWEEN 1 AND 64),
  owner       text        NOT NULL CHECK (octet_length(owner) BETWEEN 1 AND 128),
  version     text        NOT NULL CHECK (octet_length(version) <= 64),
  CONSTRAINT outbox_relay_pkey PRIMARY KEY (relay_group, owner)
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- One row per settled batch: what reconcile compares with the stream.
CREATE TABLE {{.Schema}}.outbox_batch (
  id               bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  settled_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  seq_first        bigint      NOT NULL,
  seq_last         bigint      NOT NULL,
  stream_seq_first bigint      NOT NULL,
  stream_seq_last  bigint      NOT NULL,
  events           integer     NOT NULL CHECK (events > 0),
  lane             smallint    NOT NULL,
  relay_group      text        NOT NULL,
  stream           text        NOT NULL
);

-- Events that wait: refused ones until their next attempt, and the later events of
-- their keys, parked behind them. Claimed one by one with SKIP LOCKED.
CREATE TABLE {{.Schema}}.outbox_retry (
  id                   bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  seq                  bigint      NOT NULL,
  row_version          bigint      NOT NULL DEFAULT 0 CHECK (row_version >= 0),
  next_visible_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  lease_until          timestamptz,
  lease_token          uuid,
  attempts             integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  requeue_epoch        integer     NOT NULL DEFAULT 0 CHECK (requeue_epoch >= 0),
  lane                 smallint    NOT NULL,
  relay_group          text        NOT NULL,
  event_id             text        NOT NULL,
  partition_key        text,
  work_kind            text        NOT NULL CHECK (work_kind IN ('parked', 'retry_scheduled')),
  lease_owner          text        CHECK (octet_length(lease_owner) BETWEEN 1 AND 128),
  -- A code of a closed set and a digest: the broker's text is never stored.
  reason_code          text        CHECK (reason_code IN ('message_too_large', 'header_too_large', 'malformed', 'rejected')),
  reason_detail_sha256 bytea       CHECK (octet_length(reason_detail_sha256) = 32),
  CONSTRAINT outbox_retry_event UNIQUE (relay_group, lane, seq),
  CONSTRAINT outbox_retry_lease CHECK (num_nulls(lease_owner, lease_token, lease_until) IN (0, 3)),
  CONSTRAINT outbox_retry_work CHECK
    (CASE work_kind WHEN 'parked' THEN attempts = 0 AND reason_code IS NULL AND reason_detail_sha256 IS NULL
                    ELSE attempts > 0 AND reason_code IS NOT NULL AND reason_detail_sha256 IS NOT NULL END)
);
CREATE INDEX outbox_retry_due ON {{.Schema}}.outbox_retry (relay_group, next_visible_at, id);
CREATE INDEX outbox_retry_key ON {{.Schema}}.outbox_retry (relay_group, lane, partition_key, seq);

-- Events that were given up. A row carries its own copy of the event, so that it
-- can wait for years without holding up retention.
CREATE TABLE {{.Schema}}.outbox_dead_letter (
  id                   bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  seq                  bigint      NOT NULL,
  dead_at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  staged_at            timestamptz NOT NULL,
  time                 timestamptz,
  attempts             integer     NOT NULL CHECK (attempts > 0),
  requeue_epoch        integer     NOT NULL DEFAULT 0 CHECK (requeue_epoch >= 0),
  hold_generation      integer,
  lane                 smallint    NOT NULL,
  hold_operation_id    uuid,
  relay_group          text        NOT NULL,
  reason_code          text        NOT NULL CHECK (reason_code IN ('message_too_large', 'header_too_large', 'malformed', 'rejected')),
  reason_detail_sha256 bytea       NOT NULL CHECK (octet_length(reason_detail_sha256) = 32),
  event_id             text        NOT NULL,
  source               text        NOT NULL,
  type                 text        NOT NULL,
  subject              text,
  datacontenttype      text,
  dataschema           text,
  partition_key        text,
  extensions           jsonb       NOT NULL,
  data                 bytea,
  CONSTRAINT outbox_dead_letter_event UNIQUE (relay_group, lane, seq)
);

-- What people may see of a dead letter: everything but its payload.
CREATE VIEW {{.Schema}}.outbox_dead_letter_info AS
SELECT id, event_id, source, type, subject, "time", partition_key, datacontenttype, dataschema, extensions,
       octet_length(data) AS data_bytes, reason_code, encode(reason_detail_sha256, 'hex') AS reason_detail_sha256,
       attempts, requeue_epoch, hold_operation_id, hold_generation, staged_at, dead_at, relay_group, lane, seq
  FROM {{.Schema}}.outbox_dead_letter;

-- The events of requeued dead letters, while they wait for their retry: the log may have
-- forgotten them long ago.
CREATE TABLE {{.Schema}}.outbox_requeued (
  seq               bigint      NOT NULL,
  staged_at         timestamptz NOT NULL,
  time              timestamptz,
  hold_generation   integer,
  lane              smallint    NOT NULL,
  hold_operation_id uuid,
  relay_group       text        NOT NULL,
  event_id          text        NOT NULL,
  source            text        NOT NULL,
  type              text        NOT NULL,
  subject           text,
  datacontenttype   text,
  dataschema        text,
  partition_key     text,
  extensions        jsonb       NOT NULL,
  data              bytea,
  CONSTRAINT outbox_requeued_pkey PRIMARY KEY (relay_group, lane, seq)
);

-- What operators did with dead letters: kept for ever, without the payload.
CREATE TABLE {{.Schema}}.outbox_dead_letter_history (
  id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at             timestamptz NOT NULL DEFAULT clock_timestamp(),
  dead_letter_id bigint      NOT NULL,
  seq            bigint      NOT NULL,
  attempts       integer     NOT NULL,
  requeue_epoch  integer     NOT NULL,
  lane           smallint    NOT NULL,
  relay_group    text        NOT NULL,
  event_id       text        NOT NULL,
  action         text        NOT NULL CHECK (action IN ('dead-lettered', 'requeued', 'discarded')),
  actor          text        NOT NULL CHECK (octet_length(actor) BETWEEN 1 AND 255),
  reason         text        NOT NULL CHECK (octet_length(reason) BETWEEN 1 AND 1024)
);
CREATE INDEX outbox_dead_letter_history_event ON {{.Schema}}.outbox_dead_letter_history (relay_group, lane, seq, id);

-- An event waits for a retry or is a dead letter, never both. The lock on the event's
-- name makes the two triggers see each other before either commits.
CREATE FUNCTION {{.Schema}}._one_fate() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  taken boolean;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(format('holdfast:%s:%s:%s', NEW.relay_group, NEW.lane, NEW.seq), 0));
  IF TG_TABLE_NAME = 'outbox_retry' THEN
    taken := EXISTS (SELECT FROM {{.Schema}}.outbox_dead_letter d WHERE d.relay_group = NEW.relay_group AND d.lane = NEW.lane AND d.seq = NEW.seq);
  ELSE
    taken := EXISTS (SELECT FROM {{.Schema}}.outbox_retry r WHERE r.relay_group = NEW.relay_group AND r.lane = NEW.lane AND r.seq = NEW.seq);
  END IF;
  IF taken THEN
    RAISE EXCEPTION USING
      ERRCODE = 'HF020',
      MESSAGE = format('event at lane %s seq %s of group %s is in the other set already', NEW.lane, NEW.seq, NEW.relay_group),
      HINT    = 'An event is either waiting for a retry or a dead letter. Move it with `relay dead-letter requeue`.';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER outbox_retry_one_fate BEFORE INSERT OR UPDATE OF relay_group, lane, seq ON {{.Schema}}.outbox_retry
  FOR EACH ROW EXECUTE FUNCTION {{.Schema}}._one_fate();
CREATE TRIGGER outbox_dead_letter_one_fate BEFORE INSERT OR UPDATE OF relay_group, lane, seq ON {{.Schema}}.outbox_dead_letter
  FOR EACH ROW EXECUTE FUNCTION {{.Schema}}._one_fate();

-- What a person decides about dead letters. Whoever may call these needs no right on the
-- tables and never sees a payload. The answer leaves out ids that are not there any more.

-- dead_letter_requeue moves dead letters back to the waiting set, each with its event, a
-- further epoch, and a line of history. They are due now.
CREATE FUNCTION {{.Schema}}.dead_letter_requeue(relay_group text, ids bigint[], actor text, reason text) RETURNS SETOF bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH dead AS (
    DELETE FROM {{.Schema}}.outbox_dead_letter d WHERE d.relay_group = $1 AND d.id = ANY ($2)
    RETURNING d.*
  ), kept AS (
    INSERT INTO {{.Schema}}.outbox_requeued
      (relay_group, seq, staged_at, "time", hold_generation, lane, hold_operation_id, event_id, source, type,
       subject, datacontenttype, dataschema, partition_key, extensions, data)
    SELECT d.relay_group, d.seq, d.staged_at, d."time", d.hold_generation, d.lane, d.hold_operation_id, d.event_id, d.source, d.type,
           d.subject, d.datacontenttype, d.dataschema, d.partition_key, d.extensions, d.data
      FROM dead d
  ), waiting AS (
    INSERT INTO {{.Schema}}.outbox_retry (relay_group, lane, seq, event_id, partition_key, work_kind, attempts, requeue_epoch)
    SELECT d.relay_group, d.lane, d.seq, d.event_id, d.partition_key, 'parked', 0, d.requeue_epoch + 1 FROM dead d
  ), told AS (
    INSERT INTO {{.Schema}}.outbox_dead_letter_history
      (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason)
    SELECT d.id, d.seq, d.attempts, d.requeue_epoch, d.lane, d.relay_group, d.event_id, 'requeued', $3, $4 FROM dead d
  )
  SELECT d.id FROM dead d ORDER BY d.id
$$;

-- dead_letter_discard removes dead letters for good, and keeps who did it and why.
CREATE FUNCTION {{.Schema}}.dead_letter_discard(relay_group text, ids bigint[], actor text, reason text) RETURNS SETOF bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH dead AS (
    DELETE FROM {{.Schema}}.outbox_dead_letter d WHERE d.relay_group = $1 AND d.id = ANY ($2)
    RETURNING d.id, d.seq, d.attempts, d.requeue_epoch, d.lane, d.relay_group, d.event_id
  ), told AS (
    INSERT INTO {{.Schema}}.outbox_dead_letter_history
      (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason)
    SELECT d.id, d.seq, d.attempts, d.requeue_epoch, d.lane, d.relay_group, d.event_id, 'discarded', $3, $4 FROM dead d
  )
  SELECT d.id FROM dead d ORDER BY d.id
$$;

-- Rights are granted by name (outbox-gen roles), never to everybody.
REVOKE ALL ON FUNCTION
  {{.Schema}}._one_fate(),
  {{.Schema}}.dead_letter_requeue(text, bigint[], text, text),
  {{.Schema}}.dead_letter_discard(text, bigint[], text, text)
FROM PUBLIC;
