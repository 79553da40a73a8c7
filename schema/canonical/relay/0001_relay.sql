-- The relay's own state: cursors and leases, retries, dead letters, batches, retention.
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

-- What operators did with dead letters, without the payload: kept for a long time, and as long as
-- the dead letter is there.
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

-- An event waits for a retry or is a dead letter, never both. The lock makes the two triggers
-- see each other before either commits.
CREATE FUNCTION {{.Schema}}._one_fate() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  taken boolean;
BEGIN
  -- A lane's, not a row's: a refused batch must not fill the lock table, which producers share. Whoever
  -- writes rows of several lanes in one transaction does it in the order of the lanes.
  PERFORM pg_advisory_xact_lock(hashtextextended(format('holdfast:%s:%s', NEW.relay_group, NEW.lane), 0));
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
     ORDER BY d.lane -- see _one_fate
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

-- Retention. A slot of the log is emptied by TRUNCATE, by one pod at a time: whoever has the
-- lease below, judged by the clock of the database and fenced by its token.
CREATE TABLE {{.Schema}}.outbox_maintenance (
  one           boolean     NOT NULL DEFAULT true PRIMARY KEY CHECK (one), -- there is one row
  lease_until   timestamptz,
  lease_token   uuid,
  rotated_at    timestamptz, -- the last slot that was emptied
  refused_at    timestamptz, -- the last slot that was not, although it looked as if it could be
  rotated_slot  smallint,
  refused_slot  smallint,
  lease_owner   text        CHECK (octet_length(lease_owner) BETWEEN 1 AND 128),
  refused_why   text        CHECK (octet_length(refused_why) <= 1024),
  CONSTRAINT outbox_maintenance_lease CHECK (num_nulls(lease_owner, lease_token, lease_until) IN (0, 3))
) WITH (fillfactor = 10);

INSERT INTO {{.Schema}}.outbox_maintenance DEFAULT VALUES;

-- _retention_dated says when the newest event of a slot entered the log; NULL when the slot is
-- empty. Numbers are drawn when an event enters, so the newest has the highest. It is
-- dated by its own time, or by the release of its generation, and a clock that
-- jumped is corrected by its neighbours in the log: an event is not older than the one before
-- it, and one that comes from the future is not younger than the one after it.
CREATE FUNCTION {{.Schema}}._retention_dated(wanted smallint) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  newest record;
  dated  timestamptz;
  other  timestamptz;
  now_is timestamptz := clock_timestamp();
BEGIN
  SELECT n.* INTO newest
    FROM generate_series(0, {{.Lanes}} - 1) AS l (lane)
   CROSS JOIN LATERAL (
     SELECT e.seq, e.tx, e.staged_at, e.hold_operation_id, e.hold_generation FROM {{.Schema}}.event_outbox e
      WHERE e.slot = wanted AND e.lane = l.lane ORDER BY e.lane DESC, e.seq DESC LIMIT 1
   ) AS n
   ORDER BY n.seq DESC LIMIT 1;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  dated := newest.staged_at;
  IF newest.tx IS NOT NULL AND newest.hold_operation_id IS NOT NULL AND to_regclass('{{.Schema}}.hold_generation') IS NOT NULL THEN
    SELECT g.decided_at INTO other FROM {{.Schema}}.hold_generation g
     WHERE g.operation_id = newest.hold_operation_id AND g.generation = newest.hold_generation;
    dated := coalesce(other, dated);
  END IF;
  IF dated > now_is THEN
    SELECT min(n.staged_at) INTO other
      FROM generate_series(0, {{.Lanes}} - 1) AS l (lane)
     CROSS JOIN LATERAL (
       SELECT e.staged_at FROM {{.Schema}}.event_outbox e
        WHERE e.lane = l.lane AND e.seq > newest.seq AND e.hold_operation_id IS NULL AND e.staged_at <= now_is
        ORDER BY e.lane, e.seq LIMIT 1
     ) AS n;
    RETURN coalesce(other, now_is);
  END IF;
  SELECT max(n.staged_at) INTO other
    FROM generate_series(0, {{.Lanes}} - 1) AS l (lane)
   CROSS JOIN LATERAL (
     SELECT e.staged_at FROM {{.Schema}}.event_outbox e
      WHERE e.lane = l.lane AND e.seq < newest.seq ORDER BY e.lane DESC, e.seq DESC LIMIT 1
   ) AS n
   WHERE n.staged_at <= now_is;
  RETURN greatest(dated, other);
END
$$;

-- _retention_judge says whether a slot may be emptied, and if not why. Every answer is a probe
-- of an index, whatever the statistics say, because it is also asked under the lock.
--
--   empty      there is nothing in it
--   current    events go into it now
--   young      its newest event has not been kept for as long as asked
--   foreign    the cursors are of another cluster, and say nothing about these transactions
--   lanes      a relay group lacks lanes, or there is no group: nobody knows what was drained
--   undrained  a relay group has not settled an event of it
--   waiting    an event of it waits for its retry, and only the log has it
--   held       an event of it is held
--   ready      it may be emptied
CREATE FUNCTION {{.Schema}}._retention_judge(wanted smallint, keep interval, OUT outcome text, OUT why text, OUT dated timestamptz)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  found_row record;
BEGIN
  why := '';
  dated := {{.Schema}}._retention_dated(wanted);
  IF dated IS NULL THEN
    outcome := 'empty';
    RETURN;
  ELSIF wanted = {{.SlotExpr}} THEN
    outcome := 'current';
    RETURN;
  ELSIF dated > clock_timestamp() - keep THEN
    outcome := 'young';
    RETURN;
  END IF;

  outcome := 'foreign';
  PERFORM FROM {{.Schema}}.holdfast_schema s WHERE s.system_identifier <> (pg_control_system()).system_identifier;
  IF FOUND THEN
    why := 'the database came from another cluster';
    RETURN;
  END IF;
  SELECT l.relay_group, l.lane INTO found_row FROM {{.Schema}}.outbox_lane l
   WHERE pg_snapshot_xmax(l.drained) > pg_snapshot_xmax(pg_current_snapshot()) LIMIT 1;
  IF FOUND THEN
    why := format('the cursor of group %s lane %s is of another cluster', found_row.relay_group, found_row.lane);
    RETURN;
  END IF;

  outcome := 'lanes';
  SELECT g.relay_group, g.lanes INTO found_row
    FROM (SELECT l.relay_group, count(*) FILTER (WHERE l.lane < {{.Lanes}}) AS lanes
            FROM {{.Schema}}.outbox_lane l GROUP BY l.relay_group
           UNION ALL SELECT 'default', 0 WHERE NOT EXISTS (SELECT FROM {{.Schema}}.outbox_lane)) AS g
   WHERE g.lanes <> {{.Lanes}} LIMIT 1;
  IF FOUND THEN
    why := format('group %s has %s of {{.Lanes}} lanes', found_row.relay_group, found_row.lanes);
    RETURN;
  END IF;

  outcome := 'held';
  SELECT e.hold_operation_id AS operation, e.hold_generation AS generation INTO found_row FROM {{.Schema}}.event_outbox e
   WHERE e.slot = wanted AND e.tx IS NULL ORDER BY e.hold_operation_id, e.hold_generation LIMIT 1;
  IF FOUND THEN
    why := format('operation %s generation %s holds events', found_row.operation, found_row.generation);
    RETURN;
  END IF;

  outcome := 'undrained';
  -- What is not in drained: see the reads of the relay.
  SELECT l.relay_group, l.lane INTO found_row FROM {{.Schema}}.outbox_lane l
   WHERE (SELECT e.tx FROM {{.Schema}}.event_outbox e
           WHERE e.slot = wanted AND e.lane = l.lane AND e.tx >= pg_snapshot_xmax(l.drained)
           ORDER BY e.lane, e.tx LIMIT 1) IS NOT NULL
      OR (SELECT c.tx
            FROM pg_snapshot_xip(l.drained) AS x (tx)
           CROSS JOIN LATERAL (
             SELECT e.tx FROM {{.Schema}}.event_outbox e
              WHERE e.slot = wanted AND e.lane = l.lane AND e.tx BETWEEN x.tx AND x.tx
              ORDER BY e.tx LIMIT 1
           ) AS c
           LIMIT 1) IS NOT NULL
   LIMIT 1;
  IF FOUND THEN
    why := format('group %s has not drained lane %s', found_row.relay_group, found_row.lane);
    RETURN;
  END IF;

  outcome := 'waiting';
  -- Only the waiting rows between the first and the last number of the slot are looked at.
  WITH RECURSIVE waiting_group (name) AS (
    (SELECT r.relay_group FROM {{.Schema}}.outbox_retry r ORDER BY r.relay_group, r.lane, r.seq LIMIT 1)
    UNION ALL
    SELECT (SELECT r.relay_group FROM {{.Schema}}.outbox_retry r WHERE r.relay_group > g.name ORDER BY r.relay_group, r.lane, r.seq LIMIT 1)
      FROM waiting_group g WHERE g.name IS NOT NULL
  )
  SELECT w.relay_group, l.lane, w.seq, w.event_id INTO found_row
    FROM generate_series(0, {{.Lanes}} - 1) AS l (lane)
   CROSS JOIN LATERAL (SELECT e.seq FROM {{.Schema}}.event_outbox e WHERE e.slot = wanted AND e.lane = l.lane ORDER BY e.lane, e.seq LIMIT 1) AS a (first)
   CROSS JOIN LATERAL (SELECT e.seq FROM {{.Schema}}.event_outbox e WHERE e.slot = wanted AND e.lane = l.lane ORDER BY e.lane DESC, e.seq DESC LIMIT 1) AS z (last)
   CROSS JOIN waiting_group g
   CROSS JOIN LATERAL (
     SELECT r.relay_group, r.seq, r.event_id FROM {{.Schema}}.outbox_retry r
      WHERE r.relay_group = g.name AND r.lane = l.lane AND r.seq BETWEEN a.first AND z.last
        AND EXISTS (SELECT FROM {{.Schema}}.event_outbox e WHERE e.slot = wanted AND e.lane = r.lane AND e.seq = r.seq)
        AND NOT EXISTS (SELECT FROM {{.Schema}}.outbox_requeued q WHERE q.relay_group = r.relay_group AND q.lane = r.lane AND q.seq = r.seq)
      LIMIT 1
   ) AS w
   LIMIT 1;
  IF FOUND THEN
    why := format('event %s waits for its retry in group %s lane %s', found_row.event_id, found_row.relay_group, found_row.lane);
    RETURN;
  END IF;
  outcome := 'ready';
END
$$;

-- _retention_move takes up to most held events of a slot to the slot of now. They keep everything
-- but the slot: operation, generation, number. Whoever decides a generation has its gate
-- first; the share lock keeps that decision out until this is committed, and a generation that
-- is being decided is left for later, so that neither side ever waits for the other's rows.
CREATE FUNCTION {{.Schema}}._retention_move(wanted smallint, most integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  operations  uuid[];
  generations integer[];
  moved       bigint;
BEGIN
  SELECT array_agg(h.operation), array_agg(h.generation) INTO operations, generations
    FROM (SELECT DISTINCT f.operation, f.generation
            FROM (SELECT e.hold_operation_id AS operation, e.hold_generation AS generation FROM {{.Schema}}.event_outbox e
                   WHERE e.slot = wanted AND e.tx IS NULL
                   ORDER BY e.hold_operation_id, e.hold_generation LIMIT most) AS f) AS h;
  IF operations IS NULL THEN
    RETURN 0;
  END IF;
  IF to_regclass('{{.Schema}}.hold_generation') IS NOT NULL THEN
    WITH free AS MATERIALIZED (
      SELECT g.operation_id, g.generation
        FROM unnest(operations, generations) AS h (operation, generation)
        JOIN {{.Schema}}.hold_generation g ON g.operation_id = h.operation AND g.generation = h.generation
         FOR SHARE OF g SKIP LOCKED
    ), orphaned AS (
      SELECT h.operation, h.generation FROM unnest(operations, generations) AS h (operation, generation)
       WHERE NOT EXISTS (SELECT FROM {{.Schema}}.hold_generation g WHERE g.operation_id = h.operation AND g.generation = h.generation)
    )
    SELECT array_agg(f.operation_id), array_agg(f.generation) INTO operations, generations
      FROM (SELECT * FROM free UNION ALL SELECT * FROM orphaned) AS f;
  END IF;
  -- A later statement, so that it sees what was decided before the gates were had.
  WITH place AS MATERIALIZED (
    SELECT e.lane, e.seq
      FROM unnest(operations, generations) AS h (operation, generation)
      JOIN {{.Schema}}.event_outbox e ON e.slot = wanted AND e.hold_operation_id = h.operation AND e.hold_generation = h.generation AND e.tx IS NULL
     LIMIT most
  )
  UPDATE {{.Schema}}.event_outbox e
     SET slot = {{.SlotExpr}}
    FROM place p
   WHERE e.slot = wanted AND e.lane = p.lane AND e.seq = p.seq AND e.tx IS NULL;
  GET DIAGNOSTICS moved = ROW_COUNT;
  RETURN moved;
END
$$;

-- retention_look judges every slot and changes nothing. keep defaults to all periods but two.
CREATE FUNCTION {{.Schema}}.retention_look(keep interval DEFAULT NULL)
RETURNS TABLE (slot smallint, outcome text, why text, dated timestamptz, bytes bigint, events bigint, dead bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT n.slot::smallint, j.outcome, j.why, j.dated, pg_total_relation_size(c.id),
         pg_stat_get_live_tuples(c.id), pg_stat_get_dead_tuples(c.id)
    FROM (SELECT (({{.SlotExpr}} + i) % {{.Slots}})::smallint AS slot, i FROM generate_series(1, {{.Slots}}) AS i) AS n
   CROSS JOIN LATERAL (SELECT ('{{.Schema}}.event_outbox_' || n.slot)::regclass::oid AS id) AS c
   CROSS JOIN LATERAL {{.Schema}}._retention_judge(n.slot, coalesce(retention_look.keep, {{.Keep}})) AS j
   ORDER BY n.i
$$;

-- retention_rotate is the only right to empty a slot. It moves held events out of the way, a
-- batch for each call, and then empties the slot, if under the lock on it nothing speaks against it. It
-- never waits for that lock for longer than is good for those who would queue behind it.
-- Besides those of _retention_judge the outcomes are
--
--   moved    held events were moved: call again
--   emptied  done
--   busy     the lock was not to be had: call again later
--   lost     the lease is not, or no longer, the caller's: nothing was done
CREATE FUNCTION {{.Schema}}.retention_rotate(
  lease uuid, slot integer, keep interval DEFAULT NULL, most integer DEFAULT 500,
  OUT outcome text, OUT why text, OUT moved bigint, OUT bytes bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '50ms'
AS $$
DECLARE
  wanted smallint := retention_rotate.slot;
  stays  interval := coalesce(retention_rotate.keep, {{.Keep}});
BEGIN
  why := '';
  moved := 0;
  bytes := 0;
  IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002',
      MESSAGE = format('isolation: a slot cannot be emptied at %s', current_setting('transaction_isolation')),
      DETAIL  = 'field=isolation',
      HINT    = 'Use a READ COMMITTED transaction: only there is everything seen that was committed before the lock.';
  END IF;
  IF wanted IS NULL OR wanted NOT BETWEEN 0 AND {{.Slots}} - 1 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = format('slot: there is no slot %s', coalesce(wanted::text, 'null')),
      DETAIL = 'field=slot', HINT = 'Slots count from 0 to {{.Slots}} less 1.';
  END IF;
  IF stays < interval '0' THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'keep: is negative', DETAIL = 'field=keep', HINT = 'Say how long events stay.';
  END IF;
  -- The row stays locked until the end of the transaction, so nobody can take the lease meanwhile.
  PERFORM FROM {{.Schema}}.outbox_maintenance m
    WHERE m.lease_token = retention_rotate.lease AND m.lease_until > clock_timestamp() FOR UPDATE;
  IF NOT FOUND THEN
    outcome := 'lost';
    RETURN;
  END IF;
  SELECT j.outcome, j.why INTO outcome, why FROM {{.Schema}}._retention_judge(wanted, stays) AS j;
  IF outcome = 'held' THEN
    moved := {{.Schema}}._retention_move(wanted, greatest(1, least(most, 10000)));
    IF moved > 0 THEN
      outcome := 'moved';
    END IF;
  ELSIF outcome = 'ready' THEN
    bytes := pg_total_relation_size(('{{.Schema}}.event_outbox_' || wanted)::regclass);
    BEGIN
      EXECUTE format('LOCK TABLE ONLY {{.Schema}}.event_outbox_%s IN ACCESS EXCLUSIVE MODE', wanted);
      -- Nobody has anything uncommitted in the slot now, and the next statement sees the rest.
      SELECT j.outcome, j.why INTO outcome, why FROM {{.Schema}}._retention_judge(wanted, stays) AS j;
      IF outcome = 'ready' THEN
        EXECUTE format('TRUNCATE TABLE ONLY {{.Schema}}.event_outbox_%s', wanted);
        outcome := 'emptied';
      END IF;
    EXCEPTION WHEN lock_not_available THEN
      outcome := 'busy';
      SELECT format('the lock on event_outbox_%s was not to be had%s', wanted,
               (SELECT format(': process %s has used it since %s', l.pid, coalesce(to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '?'))
                  FROM pg_locks l
                  LEFT JOIN pg_stat_activity a ON a.pid = l.pid
                 WHERE l.locktype = 'relation' AND l.granted AND l.pid <> pg_backend_pid()
                   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                   AND l.relation = ('{{.Schema}}.event_outbox_' || wanted)::regclass
                 ORDER BY a.xact_start NULLS LAST LIMIT 1)) INTO why;
    END;
    IF outcome <> 'emptied' THEN
      bytes := 0;
    END IF;
  ELSE
    RETURN;
  END IF;
  IF outcome = 'emptied' THEN
    UPDATE {{.Schema}}.outbox_maintenance m
       SET rotated_at = clock_timestamp(), rotated_slot = wanted, refused_at = NULL, refused_slot = NULL, refused_why = NULL;
  ELSIF outcome <> 'moved' THEN
    UPDATE {{.Schema}}.outbox_maintenance m
       SET refused_at = clock_timestamp(), refused_slot = wanted, refused_why = left(why, 512);
  END IF;
END
$$;

-- retention_prune removes what was recorded long ago, up to most rows of each table: batches, what
-- was done with dead letters, and who decided about holds. Of the batches it leaves the furthest
-- of each stream, which tells a comparison up to where the log may have forgotten. Evidence of a
-- dead letter that is still there, or of a generation that is still open, stays; so does all
-- evidence of the last 30 days, whatever is asked.
CREATE FUNCTION {{.Schema}}.retention_prune(
  lease uuid, batches_after interval, records_after interval, most integer DEFAULT 2000,
  OUT batches bigint, OUT history bigint, OUT audit bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '50ms'
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  records_before timestamptz := clock_timestamp() - greatest(records_after, interval '30 days');
  rows_at_most   integer     := greatest(2, least(most, 10000));
  young          bigint;
BEGIN
  batches := 0;
  history := 0;
  audit := 0;
  PERFORM FROM {{.Schema}}.outbox_maintenance m
    WHERE m.lease_token = retention_prune.lease AND m.lease_until > clock_timestamp() FOR UPDATE;
  IF NOT FOUND THEN
    batches := -1; -- the lease is not, or no longer, the caller's
    RETURN;
  END IF;
  -- Rows are written in the order of their ids, so those before the first young one are old,
  -- also when a clock that jumped has dated them into the future.
  SELECT b.id INTO young FROM {{.Schema}}.outbox_batch b
   WHERE b.settled_at BETWEEN clock_timestamp() - batches_after AND clock_timestamp() ORDER BY b.id LIMIT 1;
  WITH old AS MATERIALIZED (
    SELECT b.id, b.relay_group, b.stream, b.stream_seq_last FROM {{.Schema}}.outbox_batch b
     WHERE b.id < young OR young IS NULL AND b.settled_at < clock_timestamp() - batches_after
     ORDER BY b.id LIMIT rows_at_most
  ), ranked AS (
    SELECT o.id, row_number() OVER (PARTITION BY o.relay_group, o.stream ORDER BY o.stream_seq_last DESC, o.id DESC) AS rank FROM old o
  )
  DELETE FROM {{.Schema}}.outbox_batch b USING ranked r WHERE b.id = r.id AND r.rank > 1;
  GET DIAGNOSTICS batches = ROW_COUNT;
  SELECT h.id INTO young FROM {{.Schema}}.outbox_dead_letter_history h
   WHERE h.at BETWEEN records_before AND clock_timestamp() ORDER BY h.id LIMIT 1;
  WITH old AS MATERIALIZED (
    SELECT h.id FROM {{.Schema}}.outbox_dead_letter_history h
     WHERE (h.id < young OR young IS NULL AND h.at < records_before)
       AND NOT EXISTS (SELECT FROM {{.Schema}}.outbox_dead_letter d WHERE d.relay_group = h.relay_group AND d.lane = h.lane AND d.seq = h.seq)
       AND NOT EXISTS (SELECT FROM {{.Schema}}.outbox_retry r WHERE r.relay_group = h.relay_group AND r.lane = h.lane AND r.seq = h.seq)
     ORDER BY h.id LIMIT rows_at_most
  )
  DELETE FROM {{.Schema}}.outbox_dead_letter_history h USING old o WHERE h.id = o.id;
  GET DIAGNOSTICS history = ROW_COUNT;
  IF to_regclass('{{.Schema}}.hold_audit') IS NOT NULL THEN
    PERFORM set_config('holdfast.pruning', 'on', true); -- the table is append-only for everybody else
    SELECT a.id INTO young FROM {{.Schema}}.hold_audit a
     WHERE a.at BETWEEN records_before AND clock_timestamp() ORDER BY a.id LIMIT 1;
    WITH old AS MATERIALIZED (
      SELECT a.id FROM {{.Schema}}.hold_audit a
       WHERE (a.id < young OR young IS NULL AND a.at < records_before)
         AND NOT EXISTS (SELECT FROM {{.Schema}}.hold_generation g
                          WHERE g.operation_id = a.operation_id AND g.generation = a.generation AND g.state = 'active')
       ORDER BY a.id LIMIT rows_at_most
    )
    DELETE FROM {{.Schema}}.hold_audit a USING old o WHERE a.id = o.id;
    GET DIAGNOSTICS audit = ROW_COUNT;
    PERFORM set_config('holdfast.pruning', '', true);
  END IF;
END
$$;

-- Rights are granted by name (outbox-gen roles), never to everybody.
REVOKE ALL ON FUNCTION
  {{.Schema}}._one_fate(),
  {{.Schema}}.dead_letter_requeue(text, bigint[], text, text),
  {{.Schema}}.dead_letter_discard(text, bigint[], text, text),
  {{.Schema}}._retention_dated(smallint),
  {{.Schema}}._retention_judge(smallint, interval),
  {{.Schema}}._retention_move(smallint, integer),
  {{.Schema}}.retention_look(interval),
  {{.Schema}}.retention_rotate(uuid, integer, interval, integer),
  {{.Schema}}.retention_prune(uuid, interval, interval, integer)
FROM PUBLIC;
