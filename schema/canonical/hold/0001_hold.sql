-- Holds: events staged under (operation, generation) wait, and are released or
-- dropped together. Needs the component outbox.
--
--             register            release
--  (absent) ----------> active ------------> released    (terminal)
--      \                   \------ cancel --> cancelled   (terminal)
--       \-- cancel ----------------------------^           tombstone
--
-- Lock order, everywhere: operation, then generation, then entities.

-- The high-water mark of each operation. It outlives pruning, so that a
-- generation that is gone cannot come back.
CREATE TABLE {{.Schema}}.hold_operation (
  operation_id   uuid        NOT NULL PRIMARY KEY,
  max_generation integer     NOT NULL DEFAULT 0 CHECK (max_generation >= 0),
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The gate. Every held write reads its row FOR SHARE; release and cancel lock
-- it FOR UPDATE, so they wait for writers that have not committed, and writers
-- that come later see the new state.
CREATE TABLE {{.Schema}}.hold_generation (
  operation_id   uuid        NOT NULL REFERENCES {{.Schema}}.hold_operation,
  generation     integer     NOT NULL CHECK (generation > 0),
  state          text        NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'released', 'cancelled')),
  principal      text        NOT NULL CHECK (octet_length(principal) BETWEEN 1 AND 255),
  registered_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  decided_at     timestamptz,
  decided_by     text        CHECK (octet_length(decided_by) BETWEEN 1 AND 255),
  reason         text        CHECK (octet_length(reason) <= 1024),
  -- What the decision found, released and dropped; 0 until then.
  held_count     bigint      NOT NULL DEFAULT 0 CHECK (held_count >= 0),
  released_count bigint      NOT NULL DEFAULT 0 CHECK (released_count >= 0),
  dropped_count  bigint      NOT NULL DEFAULT 0 CHECK (dropped_count >= 0),
  -- When an undecided generation is overdue, and what happens then. A
  -- release is never automatic.
  expires_at     timestamptz,
  on_expiry      text        NOT NULL DEFAULT 'alarm' CHECK (on_expiry IN ('alarm', 'cancel')),
  -- When nothing of a cancelled generation was left to undo.
  compensated_at timestamptz,
  PRIMARY KEY (operation_id, generation),
  CHECK ((state = 'active') = (decided_at IS NULL)),
  CHECK ((decided_at IS NULL) = (decided_by IS NULL)),
  CHECK (compensated_at IS NULL OR state = 'cancelled')
);
-- What the alarms and the expiry look at; decided generations are not in it.
CREATE INDEX hold_generation_active ON {{.Schema}}.hold_generation (expires_at, registered_at) WHERE state = 'active';
-- What the pruner looks at, and who undoes what was cancelled.
CREATE INDEX hold_generation_decided ON {{.Schema}}.hold_generation (decided_at) WHERE state <> 'active';
CREATE INDEX hold_generation_uncompensated ON {{.Schema}}.hold_generation (decided_at) WHERE state = 'cancelled' AND compensated_at IS NULL;

-- A receipt proves that a step was applied: it is written in the transaction
-- of the step's entity and events, and a repeated call finds it.
CREATE TABLE {{.Schema}}.hold_receipt (
  operation_id uuid        NOT NULL,
  generation   integer     NOT NULL,
  step_key     text        NOT NULL CHECK (octet_length(step_key) <= 200 AND step_key COLLATE "C" ~ '^[a-z][a-z0-9_.-]*(:(0|[1-9][0-9]{0,8}))?$'),
  entity_kind  text        NOT NULL CHECK (octet_length(entity_kind) BETWEEN 1 AND 100),
  -- The identity that survives corrections. NULL only inside the
  -- transaction that is about to fill it (receipt_complete).
  stable_id    text        CHECK (octet_length(stable_id) BETWEEN 1 AND 255),
  body_digest  bytea       NOT NULL CHECK (octet_length(body_digest) BETWEEN 16 AND 64),
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- What compensation made of the entity. Both are terminal.
  outcome        text CHECK (outcome IN ('undone', 'quarantined')),
  compensated_at timestamptz,
  PRIMARY KEY (operation_id, generation, step_key),
  FOREIGN KEY (operation_id, generation) REFERENCES {{.Schema}}.hold_generation,
  CHECK ((outcome IS NULL) = (compensated_at IS NULL))
);

-- Entities that compensation left intact, for a person to look at. It outlives pruning.
CREATE TABLE {{.Schema}}.hold_quarantine (
  operation_id   uuid        NOT NULL,
  generation     integer     NOT NULL,
  step_key       text        NOT NULL,
  entity_kind    text        NOT NULL,
  stable_id      text        NOT NULL,
  reason         text        NOT NULL CHECK (octet_length(reason) BETWEEN 1 AND 1024),
  quarantined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (operation_id, generation, step_key)
);

-- Whose turn it is with a generation that is overdue or not yet undone, and when it is
-- somebody's turn again. A row of its own: to write it on the gate would make writers and keepers wait for each other.
CREATE TABLE {{.Schema}}.hold_inquiry (
  operation_id uuid        NOT NULL,
  generation   integer     NOT NULL,
  token        uuid        NOT NULL,
  next_at      timestamptz NOT NULL,
  -- Turns that were taken and decided nothing, and the last one.
  attempts     integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  asked_at     timestamptz,
  PRIMARY KEY (operation_id, generation),
  FOREIGN KEY (operation_id, generation) REFERENCES {{.Schema}}.hold_generation
);

-- A receipt without its id must not outlive its transaction: whoever goes on after
-- a failed step and commits would block that step for ever. So the commit fails.
CREATE FUNCTION {{.Schema}}._receipt_has_id() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF EXISTS (SELECT FROM {{.Schema}}.hold_receipt r
              WHERE r.operation_id = NEW.operation_id AND r.generation = NEW.generation AND r.step_key = NEW.step_key
                AND r.stable_id IS NULL) THEN
    RAISE EXCEPTION USING
      ERRCODE = 'HF015',
      MESSAGE = format('step %s of operation %s generation %s has a receipt without a stable id', NEW.step_key, NEW.operation_id, NEW.generation),
      HINT    = 'Call receipt_complete before the commit, or pass stable_id to receipt_begin. Roll back when the step failed.';
  END IF;
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER hold_receipt_has_id AFTER INSERT ON {{.Schema}}.hold_receipt
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.stable_id IS NULL)
  EXECUTE FUNCTION {{.Schema}}._receipt_has_id();

-- Who changed what, when and why. Append-only, until retention_prune takes what is very old.
CREATE TABLE {{.Schema}}.hold_audit (
  id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  operation_id uuid        NOT NULL,
  generation   integer     NOT NULL,
  action       text        NOT NULL CHECK (action IN ('register', 'release', 'cancel', 'drop', 'expire', 'drop-event', 'compensate', 'quarantine', 'prune')),
  actor        text        NOT NULL CHECK (octet_length(actor) BETWEEN 1 AND 255),
  reason       text        CHECK (octet_length(reason) <= 1024),
  state_before text,
  state_after  text,
  events       bigint      NOT NULL DEFAULT 0,
  -- The event or the step that it is about, unless it is about the whole generation.
  item         text        CHECK (octet_length(item) <= 255)
);
CREATE INDEX hold_audit_operation ON {{.Schema}}.hold_audit (operation_id, generation, id);

CREATE FUNCTION {{.Schema}}._audit_is_append_only() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('holdfast.pruning', true) = 'on' THEN
    RETURN NULL; -- retention_prune
  END IF;
  RAISE EXCEPTION USING
    ERRCODE = 'HF019',
    MESSAGE = 'hold_audit is append-only',
    HINT    = 'Audit rows are evidence: export them with `relay audit export` instead of changing them.';
END
$$;
CREATE TRIGGER hold_audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {{.Schema}}.hold_audit
  FOR EACH STATEMENT EXECUTE FUNCTION {{.Schema}}._audit_is_append_only();

-- _hold_refuse raises the typed error for a generation that may not be used.
CREATE FUNCTION {{.Schema}}._hold_refuse(operation uuid, generation integer, state text, max_generation integer) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION USING
    ERRCODE = CASE state WHEN 'unknown' THEN 'HF010' WHEN 'cancelled' THEN 'HF011' WHEN 'released' THEN 'HF012' ELSE 'HF013' END,
    MESSAGE = format('operation %s generation %s is %s', operation, generation, state),
    DETAIL  = format('state=%s max_generation=%s', state, coalesce(max_generation, 0)),
    HINT    = CASE state
      WHEN 'unknown'    THEN 'Register the generation first. One that was pruned, or is below the high-water mark, stays refused.'
      WHEN 'cancelled'  THEN 'The operation was undone. Stop, and start again under a new generation.'
      WHEN 'released'   THEN 'The operation is finished and sealed. Use a new operation.'
      ELSE 'A later generation of this operation exists. Stop; only the latest generation may write.'
    END;
END
$$;

CREATE FUNCTION {{.Schema}}._hold_check(operation uuid, generation integer, actor text, reason text) RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF operation IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'operation: is null', DETAIL = 'field=operation',
      HINT = 'Pass the operation id, or call publish for an event that is not held.';
  END IF;
  IF generation IS NULL OR generation < 1 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = format('generation: %s is not a generation', coalesce(generation::text, 'null')),
      DETAIL = 'field=generation', HINT = 'Generations count from 1.';
  END IF;
  IF actor IS NULL OR octet_length(actor) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'actor: must be 1 to 255 bytes', DETAIL = 'field=actor',
      HINT = 'Say who decides, such as the service or the operator: every change is audited.';
  END IF;
  IF octet_length(reason) > 1024 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'reason: is longer than 1024 bytes', DETAIL = 'field=reason',
      HINT = 'Shorten it, or name the place where the story is told.';
  END IF;
END
$$;

-- _hold_check_isolation refuses a decision at a level whose snapshot is older than
-- the lock on the gate. A writer only share-locks the gate and leaves no conflict
-- behind, so such a decision would wait for the writer and then not see its events:
-- they would stay held for ever under a generation that is closed.
CREATE FUNCTION {{.Schema}}._hold_check_isolation() RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002',
      MESSAGE = format('isolation: release and cancel cannot run at %s', current_setting('transaction_isolation')),
      DETAIL  = 'field=isolation',
      HINT    = 'Use a READ COMMITTED transaction: only there does a decision see the events of the writers that it waited for.';
  END IF;
END
$$;

-- _hold_gate lets a held write pass, or refuses it. FOR SHARE is the fence:
-- it conflicts with the update of the state, which a foreign key's lock does not.
CREATE FUNCTION {{.Schema}}._hold_gate(operation uuid, gen integer) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  found_state text;
  high        integer;
BEGIN
  PERFORM {{.Schema}}._hold_check(operation, gen, 'gate', NULL);
  SELECT g.state INTO found_state
    FROM {{.Schema}}.hold_generation g
   WHERE g.operation_id = operation AND g.generation = gen
     FOR SHARE;
  SELECT o.max_generation INTO high FROM {{.Schema}}.hold_operation o WHERE o.operation_id = operation;
  IF found_state IS NULL THEN
    PERFORM {{.Schema}}._hold_refuse(operation, gen, 'unknown', high);
  ELSIF found_state <> 'active' THEN
    PERFORM {{.Schema}}._hold_refuse(operation, gen, found_state, high);
  ELSIF gen < high THEN
    PERFORM {{.Schema}}._hold_refuse(operation, gen, 'superseded', high);
  END IF;
END
$$;

-- _hold_row is the answer of every hold function: one row. changed says whether this
-- call made the transition; a repeated call gets the same state with changed = false.
CREATE FUNCTION {{.Schema}}._hold_row(operation uuid, gen integer, did_change boolean)
RETURNS TABLE (state text, max_generation integer, principal text, registered_at timestamptz,
               decided_at timestamptz, decided_by text, reason text, expires_at timestamptz, on_expiry text,
               held bigint, released bigint, dropped bigint, changed boolean)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT g.state, o.max_generation, g.principal, g.registered_at,
         g.decided_at, g.decided_by, g.reason, g.expires_at, g.on_expiry,
         CASE WHEN g.state = 'active'
              THEN (SELECT count(*) FROM {{.Schema}}.event_outbox e
                     WHERE e.hold_operation_id = g.operation_id AND e.hold_generation = g.generation AND e.tx IS NULL)
              ELSE 0 END,
         g.released_count, g.dropped_count, did_change
    FROM {{.Schema}}.hold_generation g
    JOIN {{.Schema}}.hold_operation o USING (operation_id)
   WHERE g.operation_id = operation AND g.generation = gen
$$;

CREATE FUNCTION {{.Schema}}._hold_due(value text) RETURNS timestamptz
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
BEGIN
  IF value COLLATE "C" !~ '^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$' THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = format('expires_at: %s is not an RFC 3339 time', quote_literal(left(value, 64))),
      DETAIL = 'field=expires_at', HINT = 'Pass a time such as 2026-11-29T10:00:00Z, with a zone.';
  END IF;
  RETURN value::timestamptz;
EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format THEN
  RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = format('expires_at: %s is not a time', quote_literal(left(value, 64))),
    DETAIL = 'field=expires_at', HINT = 'Pass a time such as 2026-11-29T10:00:00Z, with a zone.';
END
$$;

-- hold_register opens a generation, or answers with the state that it already has.
CREATE FUNCTION {{.Schema}}.hold_register(
  operation text, generation integer, actor text, expires_at text DEFAULT NULL, on_expiry text DEFAULT 'alarm'
) RETURNS TABLE (state text, max_generation integer, held bigint, released bigint, dropped bigint, changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  op          uuid        := {{.Schema}}._uuid(operation, 'operation');
  gen         integer     := hold_register.generation;
  due         timestamptz := {{.Schema}}._hold_due(hold_register.expires_at);
  high        integer;
  found_state text;
BEGIN
  PERFORM {{.Schema}}._hold_check(op, gen, actor, NULL);
  IF hold_register.on_expiry IS NULL OR hold_register.on_expiry NOT IN ('alarm', 'cancel') THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'on_expiry: must be alarm or cancel', DETAIL = 'field=on_expiry',
      HINT = 'A release is never automatic.';
  END IF;
  INSERT INTO {{.Schema}}.hold_operation (operation_id) VALUES (op) ON CONFLICT DO NOTHING;
  -- A later statement, so that it sees what the winner of a race committed.
  SELECT o.max_generation INTO high FROM {{.Schema}}.hold_operation o WHERE o.operation_id = op FOR UPDATE;
  SELECT g.state INTO found_state FROM {{.Schema}}.hold_generation g WHERE g.operation_id = op AND g.generation = gen;
  IF gen < high AND coalesce(found_state, 'active') = 'active' THEN
    PERFORM {{.Schema}}._hold_refuse(op, gen, 'superseded', high);
  ELSIF found_state IS NULL AND gen = high THEN
    PERFORM {{.Schema}}._hold_refuse(op, gen, 'unknown', high); -- pruned
  ELSIF found_state IS NULL THEN
    UPDATE {{.Schema}}.hold_operation o SET max_generation = gen WHERE o.operation_id = op;
    INSERT INTO {{.Schema}}.hold_generation (operation_id, generation, principal, expires_at, on_expiry)
    VALUES (op, gen, actor, due, hold_register.on_expiry);
    INSERT INTO {{.Schema}}.hold_audit (operation_id, generation, action, actor, state_after)
    VALUES (op, gen, 'register', actor, 'active');
  END IF;
  RETURN QUERY SELECT r.state, r.max_generation, r.held, r.released, r.dropped, r.changed
                 FROM {{.Schema}}._hold_row(op, gen, found_state IS NULL) r;
END
$$;

-- hold_release gives every held event of the generation its place in the log, in
-- staging order, and seals the generation. It must find and place its events through the
-- indexes whatever the statistics say, or a release would read every retained event. So
-- it is also planned each time: a plan kept from when the log was empty joins the other
-- way round, and nothing else forbids that.
CREATE FUNCTION {{.Schema}}.hold_release(operation text, generation integer, actor text, reason text DEFAULT NULL)
RETURNS TABLE (state text, max_generation integer, held bigint, released bigint, dropped bigint, changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
  op          uuid    := {{.Schema}}._uuid(operation, 'operation');
  gen         integer := hold_release.generation;
  high        integer;
  found_state text;
  moved       bigint;
BEGIN
  PERFORM {{.Schema}}._hold_check(op, gen, actor, hold_release.reason);
  PERFORM {{.Schema}}._hold_check_isolation();
  SELECT o.max_generation INTO high FROM {{.Schema}}.hold_operation o WHERE o.operation_id = op FOR SHARE;
  SELECT g.state INTO found_state FROM {{.Schema}}.hold_generation g
   WHERE g.operation_id = op AND g.generation = gen FOR UPDATE;
  IF found_state = 'released' THEN
    RETURN QUERY SELECT r.state, r.max_generation, r.held, r.released, r.dropped, r.changed FROM {{.Schema}}._hold_row(op, gen, false) r;
    RETURN;
  ELSIF found_state IS NULL THEN
    PERFORM {{.Schema}}._hold_refuse(op, gen, 'unknown', high);
  ELSIF found_state <> 'active' THEN
    PERFORM {{.Schema}}._hold_refuse(op, gen, found_state, high);
  ELSIF gen < high THEN
    PERFORM {{.Schema}}._hold_refuse(op, gen, 'superseded', high);
  END IF;
  -- New numbers are drawn in the order of the old ones, which is the order of staging.
  WITH staged AS MATERIALIZED (
    SELECT e.lane, e.seq, e.slot FROM {{.Schema}}.event_outbox e
     WHERE e.hold_operation_id = op AND e.hold_generation = gen AND e.tx IS NULL
     ORDER BY e.seq
  ), positioned AS MATERIALIZED (
    SELECT s.lane, s.seq, s.slot, nextval('{{.Schema}}.event_outbox_seq') AS new_seq FROM staged s
  )
  UPDATE {{.Schema}}.event_outbox e
     SET tx = pg_current_xact_id(), seq = p.new_seq, slot = {{.SlotExpr}}
    FROM positioned p
   WHERE e.lane = p.lane AND e.seq = p.seq AND e.slot = p.slot;
  GET DIAGNOSTICS moved = ROW_COUNT;
  UPDATE {{.Schema}}.hold_generation g
     SET state = 'released', decided_at = clock_timestamp(), decided_by = actor, reason = hold_release.reason,
         held_count = moved, released_count = moved
   WHERE g.operation_id = op AND g.generation = gen;
  INSERT INTO {{.Schema}}.hold_audit (operation_id, generation, action, actor, reason, state_before, state_after, events)
  VALUES (op, gen, 'release', actor, hold_release.reason, 'active', 'released', moved);
  RETURN QUERY SELECT r.state, r.max_generation, r.held, r.released, r.dropped, r.changed FROM {{.Schema}}._hold_row(op, gen, true) r;
END
$$;

-- hold_cancel marks the generation cancelled and deletes its held events, in one
-- transaction. An unknown generation gets a tombstone, which no register overwrites.
CREATE FUNCTION {{.Schema}}.hold_cancel(operation text, generation integer, actor text, reason text DEFAULT NULL, action text DEFAULT 'cancel')
RETURNS TABLE (state text, max_generation integer, held bigint, released bigint, dropped bigint, changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
  op          uuid    := {{.Schema}}._uuid(operation, 'operation');
  gen         integer := hold_cancel.generation;
  high        integer;
  found_state text;
  gone        bigint;
  nothing_left timestamptz; -- to compensate
BEGIN
  PERFORM {{.Schema}}._hold_check(op, gen, actor, hold_cancel.reason);
  PERFORM {{.Schema}}._hold_check_isolation();
  IF hold_cancel.action IS NULL OR hold_cancel.action NOT IN ('cancel', 'drop', 'expire') THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'action: must be cancel, drop or expire', DETAIL = 'field=action',
      HINT = 'Leave action out to cancel.';
  END IF;
  INSERT INTO {{.Schema}}.hold_operation (operation_id) VALUES (op) ON CONFLICT DO NOTHING;
  SELECT o.max_generation INTO high FROM {{.Schema}}.hold_operation o WHERE o.operation_id = op FOR UPDATE;
  SELECT g.state INTO found_state FROM {{.Schema}}.hold_generation g
   WHERE g.operation_id = op AND g.generation = gen FOR UPDATE;
  IF found_state = 'cancelled' THEN
    RETURN QUERY SELECT r.state, r.max_generation, r.held, r.released, r.dropped, r.changed FROM {{.Schema}}._hold_row(op, gen, false) r;
    RETURN;
  ELSIF found_state = 'released' THEN
    PERFORM {{.Schema}}._hold_refuse(op, gen, 'released', high);
  ELSIF found_state IS NULL AND gen <= high THEN
    -- Pruned, or never known here and already superseded: what became of it cannot be said.
    PERFORM {{.Schema}}._hold_refuse(op, gen, 'unknown', high);
  END IF;
  DELETE FROM {{.Schema}}.event_outbox e
   WHERE e.hold_operation_id = op AND e.hold_generation = gen AND e.tx IS NULL;
  GET DIAGNOSTICS gone = ROW_COUNT;
  UPDATE {{.Schema}}.hold_operation o SET max_generation = gen WHERE o.operation_id = op AND o.max_generation < gen;
  -- The gate is locked, so no receipt comes after those that are seen here.
  IF hold_cancel.action = 'drop' OR NOT EXISTS (SELECT FROM {{.Schema}}.hold_receipt r WHERE r.operation_id = op AND r.generation = gen) THEN
    nothing_left := clock_timestamp();
  END IF;
  INSERT INTO {{.Schema}}.hold_generation AS g
    (operation_id, generation, principal, state, decided_at, decided_by, reason, held_count, dropped_count, compensated_at)
  VALUES (op, gen, actor, 'cancelled', clock_timestamp(), actor, hold_cancel.reason, gone, gone, nothing_left)
  ON CONFLICT (operation_id, generation) DO UPDATE
     SET state = 'cancelled', decided_at = excluded.decided_at, decided_by = excluded.decided_by, reason = excluded.reason,
         held_count = excluded.held_count, dropped_count = excluded.dropped_count, compensated_at = excluded.compensated_at;
  INSERT INTO {{.Schema}}.hold_audit (operation_id, generation, action, actor, reason, state_before, state_after, events)
  VALUES (op, gen, hold_cancel.action, actor, hold_cancel.reason, found_state, 'cancelled', gone);
  RETURN QUERY SELECT r.state, r.max_generation, r.held, r.released, r.dropped, r.changed FROM {{.Schema}}._hold_row(op, gen, true) r;
END
$$;

-- hold_state answers what became of a generation; no row means unknown.
CREATE FUNCTION {{.Schema}}.hold_state(operation text, generation integer)
RETURNS TABLE (state text, max_generation integer, principal text, registered_at timestamptz,
               decided_at timestamptz, decided_by text, reason text, expires_at timestamptz, on_expiry text,
               held bigint, released bigint, dropped bigint, changed boolean)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
  SELECT * FROM {{.Schema}}._hold_row({{.Schema}}._uuid($1, 'operation'), $2, false)
$$;

-- receipt_begin passes the gate and claims a step. outcome is 'applied' for the first
-- call, which goes on to write, and 'replayed' for a repeated one, which gets
-- the stored stable id. body_digest is hex.
CREATE FUNCTION {{.Schema}}.receipt_begin(
  operation text, generation integer, step_key text, entity_kind text, body_digest text,
  INOUT stable_id text DEFAULT NULL, OUT outcome text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  op     uuid := {{.Schema}}._uuid(operation, 'operation');
  gen    integer := receipt_begin.generation;
  digest bytea;
  was    {{.Schema}}.hold_receipt;
BEGIN
  IF receipt_begin.step_key IS NULL OR octet_length(receipt_begin.step_key) > 200
     OR receipt_begin.step_key COLLATE "C" !~ '^[a-z][a-z0-9_.-]*(:(0|[1-9][0-9]{0,8}))?$' THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = format('step_key: %s is not a step key', quote_nullable(left(receipt_begin.step_key, 64))),
      DETAIL = 'field=step_key', HINT = 'Use a name such as household, or a name with an index such as member:3.';
  END IF;
  IF receipt_begin.entity_kind IS NULL OR octet_length(receipt_begin.entity_kind) NOT BETWEEN 1 AND 100 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'entity_kind: must be 1 to 100 bytes', DETAIL = 'field=entity_kind',
      HINT = 'Name what the step creates, such as person.';
  END IF;
  IF receipt_begin.body_digest IS NULL OR receipt_begin.body_digest COLLATE "C" !~ '^([0-9a-fA-F]{2}){16,64}$' THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'body_digest: must be 16 to 64 bytes as hex', DETAIL = 'field=body_digest',
      HINT = 'Pass the SHA-256 of the request body as hex.';
  END IF;
  IF octet_length(receipt_begin.stable_id) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'stable_id: must be 1 to 255 bytes', DETAIL = 'field=stable_id',
      HINT = 'Pass the identity of the entity that survives corrections, or leave it out and call receipt_complete.';
  END IF;
  digest := decode(receipt_begin.body_digest, 'hex');
  PERFORM {{.Schema}}._hold_gate(op, gen);
  INSERT INTO {{.Schema}}.hold_receipt (operation_id, generation, step_key, entity_kind, stable_id, body_digest)
  VALUES (op, gen, receipt_begin.step_key, receipt_begin.entity_kind, receipt_begin.stable_id, digest)
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    receipt_begin.outcome := 'applied';
    RETURN;
  END IF;
  -- The incumbent is read in a later statement: its transaction has committed by now.
  SELECT r.* INTO was FROM {{.Schema}}.hold_receipt r
   WHERE r.operation_id = op AND r.generation = gen AND r.step_key = receipt_begin.step_key;
  IF was.body_digest <> digest OR was.entity_kind <> receipt_begin.entity_kind THEN
    RAISE EXCEPTION USING ERRCODE = 'HF014',
      MESSAGE = format('step %s of operation %s generation %s was applied with another body', receipt_begin.step_key, op, gen),
      DETAIL  = format('entity_kind=%s stored_entity_kind=%s', receipt_begin.entity_kind, was.entity_kind),
      HINT    = 'A repeated call must send the same bytes. Pin what varies when the operation begins, or use another step key.';
  ELSIF was.stable_id IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'HF015',
      MESSAGE = format('step %s of operation %s generation %s has a receipt without a stable id', receipt_begin.step_key, op, gen),
      HINT    = 'The first call did not call receipt_complete before its commit. Fill the id of the entity that it made.';
  END IF;
  receipt_begin.outcome := 'replayed';
  receipt_begin.stable_id := was.stable_id;
END
$$;

-- receipt_complete fills the stable id of a receipt whose entity got its id while it was
-- written. It belongs to the transaction of receipt_begin and changes an id never.
CREATE FUNCTION {{.Schema}}.receipt_complete(operation text, generation integer, step_key text, stable_id text) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  op uuid := {{.Schema}}._uuid(operation, 'operation');
BEGIN
  IF receipt_complete.stable_id IS NULL OR octet_length(receipt_complete.stable_id) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'stable_id: must be 1 to 255 bytes', DETAIL = 'field=stable_id',
      HINT = 'Pass the identity of the entity that survives corrections.';
  END IF;
  UPDATE {{.Schema}}.hold_receipt r SET stable_id = receipt_complete.stable_id
   WHERE r.operation_id = op AND r.generation = receipt_complete.generation AND r.step_key = receipt_complete.step_key
     AND (r.stable_id IS NULL OR r.stable_id = receipt_complete.stable_id);
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'HF015',
      MESSAGE = format('step %s of operation %s generation %s has no receipt to complete', receipt_complete.step_key, op, receipt_complete.generation),
      HINT    = 'Call receipt_begin first, and receipt_complete once, in the same transaction.';
  END IF;
  RETURN receipt_complete.stable_id;
END
$$;

-- hold_list shows generations by operation and generation, after the one that is named: ids,
-- states, counts and ages. It is planned for its arguments, or a list of the few that are
-- active would read all that ever were.
CREATE FUNCTION {{.Schema}}.hold_list(
  operation text DEFAULT NULL, only_state text DEFAULT NULL, only_overdue boolean DEFAULT false,
  after_operation text DEFAULT NULL, after_generation integer DEFAULT NULL, most integer DEFAULT 100
) RETURNS TABLE (operation_id text, generation integer, state text, max_generation integer, principal text, registered_at timestamptz,
                 decided_at timestamptz, decided_by text, reason text, expires_at timestamptz, on_expiry text,
                 held bigint, released bigint, dropped bigint, receipts bigint, quarantined bigint, attempts integer,
                 compensated_at timestamptz, age interval, overdue interval)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
  op         uuid    := {{.Schema}}._uuid(hold_list.operation, 'operation');
  after_op   uuid    := {{.Schema}}._uuid(hold_list.after_operation, 'after_operation');
  after_gen  integer := coalesce(hold_list.after_generation, 0);
  rows_most  integer := greatest(1, least(hold_list.most, 1000));
BEGIN
  IF hold_list.only_state NOT IN ('active', 'released', 'cancelled') THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'only_state: must be active, released or cancelled', DETAIL = 'field=only_state',
      HINT = 'Leave it out for all states.';
  END IF;
  RETURN QUERY
  SELECT g.operation_id::text, g.generation, g.state, o.max_generation, g.principal, g.registered_at,
         g.decided_at, g.decided_by, g.reason, g.expires_at, g.on_expiry,
         CASE WHEN g.state = 'active'
              THEN (SELECT count(*) FROM {{.Schema}}.event_outbox e
                     WHERE e.hold_operation_id = g.operation_id AND e.hold_generation = g.generation AND e.tx IS NULL)
              ELSE 0 END,
         g.released_count, g.dropped_count,
         (SELECT count(*) FROM {{.Schema}}.hold_receipt r WHERE r.operation_id = g.operation_id AND r.generation = g.generation),
         (SELECT count(*) FROM {{.Schema}}.hold_quarantine q WHERE q.operation_id = g.operation_id AND q.generation = g.generation),
         coalesce(i.attempts, 0), g.compensated_at, clock_timestamp() - g.registered_at,
         CASE WHEN g.state = 'active' AND g.expires_at <= clock_timestamp() THEN clock_timestamp() - g.expires_at END
    FROM {{.Schema}}.hold_generation g
    JOIN {{.Schema}}.hold_operation o ON o.operation_id = g.operation_id
    LEFT JOIN {{.Schema}}.hold_inquiry i ON i.operation_id = g.operation_id AND i.generation = g.generation
   WHERE (op IS NULL OR g.operation_id = op)
     AND (hold_list.only_state IS NULL OR g.state = hold_list.only_state)
     AND (hold_list.only_overdue IS NOT TRUE OR g.state = 'active' AND g.expires_at <= clock_timestamp())
     AND (after_op IS NULL OR (g.operation_id, g.generation) > (after_op, after_gen))
   ORDER BY g.operation_id, g.generation
   LIMIT rows_most;
END
$$;

-- hold_events shows the held events of a generation in staging order, without their payload.
CREATE FUNCTION {{.Schema}}.hold_events(operation text, generation integer, after_seq bigint DEFAULT 0, most integer DEFAULT 100)
RETURNS TABLE (seq bigint, event_id text, source text, type text, subject text, partition_key text, datacontenttype text,
               data_bytes integer, staged_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
  SELECT e.seq, e.event_id, e.source, e.type, e.subject, e.partition_key, e.datacontenttype, coalesce(octet_length(e.data), 0), e.staged_at
    FROM {{.Schema}}.event_outbox e
   WHERE e.hold_operation_id = {{.Schema}}._uuid($1, 'operation') AND e.hold_generation = $2 AND e.tx IS NULL AND e.seq > coalesce($3, 0)
   ORDER BY e.seq LIMIT greatest(1, least($4, 1000))
$$;

-- hold_drop_event deletes one held event, in all copies that were staged, and says how many.
-- It locks the gate as a decision does: it waits for open writers, and sees what they staged.
CREATE FUNCTION {{.Schema}}.hold_drop_event(operation text, generation integer, event_id text, actor text, reason text, source text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
  op          uuid    := {{.Schema}}._uuid(operation, 'operation');
  gen         integer := hold_drop_event.generation;
  high        integer;
  found_state text;
  sources     bigint;
  gone        bigint;
BEGIN
  PERFORM {{.Schema}}._hold_check(op, gen, actor, hold_drop_event.reason);
  PERFORM {{.Schema}}._hold_check_isolation();
  IF coalesce(hold_drop_event.reason, '') = '' THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'reason: is missing', DETAIL = 'field=reason',
      HINT = 'Say why this event must not be sent: a part of what the service decided is taken away.';
  END IF;
  IF hold_drop_event.event_id IS NULL OR octet_length(hold_drop_event.event_id) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'event_id: must be 1 to 255 bytes', DETAIL = 'field=event_id',
      HINT = 'hold_events lists the ids.';
  END IF;
  SELECT o.max_generation INTO high FROM {{.Schema}}.hold_operation o WHERE o.operation_id = op FOR SHARE;
  SELECT g.state INTO found_state FROM {{.Schema}}.hold_generation g
   WHERE g.operation_id = op AND g.generation = gen FOR UPDATE;
  IF found_state IS NULL THEN
    PERFORM {{.Schema}}._hold_refuse(op, gen, 'unknown', high);
  ELSIF found_state <> 'active' THEN
    PERFORM {{.Schema}}._hold_refuse(op, gen, found_state, high);
  END IF;
  SELECT count(DISTINCT e.source) INTO sources FROM {{.Schema}}.event_outbox e
   WHERE e.hold_operation_id = op AND e.hold_generation = gen AND e.tx IS NULL AND e.event_id = hold_drop_event.event_id;
  IF sources > 1 AND hold_drop_event.source IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'source: several held events have this id', DETAIL = 'field=source',
      HINT = 'Name the source as well: id and source together name an event.';
  END IF;
  DELETE FROM {{.Schema}}.event_outbox e
   WHERE e.hold_operation_id = op AND e.hold_generation = gen AND e.tx IS NULL AND e.event_id = hold_drop_event.event_id
     AND (hold_drop_event.source IS NULL OR e.source = hold_drop_event.source);
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone > 0 THEN
    INSERT INTO {{.Schema}}.hold_audit (operation_id, generation, action, actor, reason, state_before, state_after, events, item)
    VALUES (op, gen, 'drop-event', actor, hold_drop_event.reason, 'active', 'active', gone, hold_drop_event.event_id);
  END IF;
  RETURN gone;
END
$$;

-- hold_overdue gives out overdue generations whose turn it is, each to one caller for as long
-- as lease: after that it is somebody's turn again. What is not due is never given out.
CREATE FUNCTION {{.Schema}}.hold_overdue(lease interval, only_cancel boolean DEFAULT false, most integer DEFAULT 100)
RETURNS TABLE (operation_id text, generation integer, on_expiry text, attempts integer, token text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH due AS MATERIALIZED (
    SELECT g.operation_id, g.generation, g.on_expiry FROM {{.Schema}}.hold_generation g
      LEFT JOIN {{.Schema}}.hold_inquiry i ON i.operation_id = g.operation_id AND i.generation = g.generation
     WHERE g.state = 'active' AND g.expires_at <= clock_timestamp() AND (i.next_at IS NULL OR i.next_at <= clock_timestamp())
       AND (hold_overdue.only_cancel IS NOT TRUE OR g.on_expiry = 'cancel')
     ORDER BY coalesce(i.next_at, g.expires_at), g.operation_id, g.generation
     LIMIT greatest(1, least(hold_overdue.most, 1000))
  ), taken AS (
    -- Two callers take the rows in one order. The second waits for the first, looks
    -- at the row again and leaves it.
    INSERT INTO {{.Schema}}.hold_inquiry AS i (operation_id, generation, token, next_at)
    SELECT d.operation_id, d.generation, gen_random_uuid(), clock_timestamp() + hold_overdue.lease FROM due d
     ORDER BY d.operation_id, d.generation
    ON CONFLICT (operation_id, generation) DO UPDATE SET token = excluded.token, next_at = excluded.next_at
     WHERE i.next_at <= clock_timestamp()
    RETURNING i.operation_id, i.generation, i.attempts, i.token
  )
  SELECT t.operation_id::text, t.generation, d.on_expiry, t.attempts, t.token::text
    FROM taken t JOIN due d ON d.operation_id = t.operation_id AND d.generation = t.generation;
END
$$;

-- compensation_due does the same for cancelled generations with something left to undo.
CREATE FUNCTION {{.Schema}}.compensation_due(lease interval, most integer DEFAULT 100)
RETURNS TABLE (operation_id text, generation integer, attempts integer, token text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH due AS MATERIALIZED (
    SELECT g.operation_id, g.generation FROM {{.Schema}}.hold_generation g
      LEFT JOIN {{.Schema}}.hold_inquiry i ON i.operation_id = g.operation_id AND i.generation = g.generation
     WHERE g.state = 'cancelled' AND g.compensated_at IS NULL AND (i.next_at IS NULL OR i.next_at <= clock_timestamp())
     ORDER BY coalesce(i.next_at, g.decided_at), g.operation_id, g.generation
     LIMIT greatest(1, least(compensation_due.most, 1000))
  )
  INSERT INTO {{.Schema}}.hold_inquiry AS i (operation_id, generation, token, next_at)
  SELECT d.operation_id, d.generation, gen_random_uuid(), clock_timestamp() + compensation_due.lease FROM due d
   ORDER BY d.operation_id, d.generation
  ON CONFLICT (operation_id, generation) DO UPDATE SET token = excluded.token, next_at = excluded.next_at
   WHERE i.next_at <= clock_timestamp()
  RETURNING i.operation_id::text, i.generation, i.attempts, i.token::text;
END
$$;

-- hold_put_off counts a turn that decided nothing, and says when the next one is. false says
-- that the turn is over: it is somebody else's.
CREATE FUNCTION {{.Schema}}.hold_put_off(operation text, generation integer, token text, pause interval) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  op uuid := {{.Schema}}._uuid(operation, 'operation');
BEGIN
  UPDATE {{.Schema}}.hold_inquiry i
     SET attempts = i.attempts + 1, asked_at = clock_timestamp(), next_at = clock_timestamp() + hold_put_off.pause
   WHERE i.operation_id = op AND i.generation = hold_put_off.generation
     AND i.token = {{.Schema}}._uuid(hold_put_off.token, 'token');
  RETURN FOUND;
END
$$;

-- _compensation_check lets compensation go on for a cancelled generation only, and keeps it
-- from being pruned meanwhile.
CREATE FUNCTION {{.Schema}}._compensation_check(operation uuid, gen integer) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  found_state text;
BEGIN
  PERFORM {{.Schema}}._hold_check(operation, gen, 'compensation', NULL);
  SELECT g.state INTO found_state FROM {{.Schema}}.hold_generation g
   WHERE g.operation_id = operation AND g.generation = gen FOR SHARE;
  IF found_state IS NULL OR found_state = 'released' THEN
    PERFORM {{.Schema}}._hold_refuse(operation, gen, coalesce(found_state, 'unknown'), NULL);
  ELSIF found_state = 'active' THEN
    RAISE EXCEPTION USING ERRCODE = 'HF017', MESSAGE = format('operation %s generation %s is active', operation, gen),
      DETAIL = 'state=active', HINT = 'Cancel it first: until then a write can come that compensation does not see.';
  END IF;
END
$$;

-- _compensation_mark is what tells whether a session has staged an event since: every event
-- draws a number, also a held one, and a session knows the last that it drew.
CREATE FUNCTION {{.Schema}}._compensation_mark(operation text, generation integer, step_key text) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN format('%s/%s/%s/%s', {{.Schema}}._uuid(operation, 'operation'), generation, step_key, currval('{{.Schema}}.event_outbox_seq'));
EXCEPTION WHEN object_not_in_prerequisite_state THEN
  RETURN format('%s/%s/%s/', {{.Schema}}._uuid(operation, 'operation'), generation, step_key);
END
$$;

-- compensation_receipts names the steps of a cancelled generation that are not undone, after
-- the one that is named.
CREATE FUNCTION {{.Schema}}.compensation_receipts(operation text, generation integer, after_step text DEFAULT '', most integer DEFAULT 100)
RETURNS TABLE (step_key text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  op uuid := {{.Schema}}._uuid(operation, 'operation');
BEGIN
  PERFORM {{.Schema}}._compensation_check(op, compensation_receipts.generation);
  RETURN QUERY SELECT r.step_key FROM {{.Schema}}.hold_receipt r
   WHERE r.operation_id = op AND r.generation = compensation_receipts.generation
     AND r.step_key > coalesce(compensation_receipts.after_step, '') AND r.outcome IS NULL
   ORDER BY r.step_key LIMIT greatest(1, least(compensation_receipts.most, 1000));
END
$$;

-- compensation_begin locks the receipt of a step, and answers with its entity. outcome is null
-- when the entity is to be undone. Two callers take turns, and the second finds an outcome.
CREATE FUNCTION {{.Schema}}.compensation_begin(
  operation text, generation integer, step_key text,
  OUT entity_kind text, OUT stable_id text, OUT created_at timestamptz, OUT outcome text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  op uuid := {{.Schema}}._uuid(operation, 'operation');
BEGIN
  PERFORM {{.Schema}}._compensation_check(op, compensation_begin.generation);
  SELECT r.entity_kind, r.stable_id, r.created_at, r.outcome
    INTO compensation_begin.entity_kind, compensation_begin.stable_id, compensation_begin.created_at, compensation_begin.outcome
    FROM {{.Schema}}.hold_receipt r
   WHERE r.operation_id = op AND r.generation = compensation_begin.generation AND r.step_key = compensation_begin.step_key
     FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'HF018',
      MESSAGE = format('step %s of operation %s generation %s has no receipt', compensation_begin.step_key, op, compensation_begin.generation),
      HINT    = 'Only what was applied can be undone; compensation_receipts names the steps.';
  END IF;
  PERFORM set_config('holdfast.compensating', {{.Schema}}._compensation_mark(operation, compensation_begin.generation, compensation_begin.step_key), true);
END
$$;

-- compensation_end records what became of the entity, in the transaction of compensation_begin.
-- It fails when an event was staged in between: downstream never learned of what is undone,
-- so there is nothing to tell it.
CREATE FUNCTION {{.Schema}}.compensation_end(
  operation text, generation integer, step_key text, actor text, outcome text, reason text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  op    uuid    := {{.Schema}}._uuid(operation, 'operation');
  gen   integer := compensation_end.generation;
  step  text    := compensation_end.step_key;
  was   text    := coalesce(current_setting('holdfast.compensating', true), '');
  mark  text    := {{.Schema}}._compensation_mark(operation, gen, step);
BEGIN
  PERFORM {{.Schema}}._hold_check(op, gen, actor, compensation_end.reason);
  IF compensation_end.outcome IS NULL OR compensation_end.outcome NOT IN ('undone', 'quarantined') THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'outcome: must be undone or quarantined', DETAIL = 'field=outcome',
      HINT = 'Roll back when the step could be neither.';
  ELSIF compensation_end.outcome = 'quarantined' AND coalesce(compensation_end.reason, '') = '' THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'reason: is missing', DETAIL = 'field=reason',
      HINT = 'Say why the entity was left intact: a person will read it.';
  END IF;
  IF left(was, length(format('%s/%s/%s/', op, gen, step))) <> format('%s/%s/%s/', op, gen, step) THEN
    RAISE EXCEPTION USING ERRCODE = 'HF018',
      MESSAGE = format('compensation of step %s of operation %s generation %s was not begun', step, op, gen),
      HINT    = 'Call compensation_begin first, in the same transaction.';
  ELSIF was <> mark THEN
    RAISE EXCEPTION USING ERRCODE = 'HF016',
      MESSAGE = format('compensation of step %s of operation %s generation %s staged an event', step, op, gen),
      HINT    = 'Nobody was told of what is undone, so there is nothing to tell. Undo without publishing.';
  END IF;
  PERFORM set_config('holdfast.compensating', '', true);
  UPDATE {{.Schema}}.hold_receipt r SET outcome = compensation_end.outcome, compensated_at = clock_timestamp()
   WHERE r.operation_id = op AND r.generation = gen AND r.step_key = step AND r.outcome IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'HF018',
      MESSAGE = format('step %s of operation %s generation %s has an outcome already', step, op, gen),
      HINT    = 'Go on with the next step when compensation_begin answers with an outcome.';
  END IF;
  IF compensation_end.outcome = 'quarantined' THEN
    INSERT INTO {{.Schema}}.hold_quarantine (operation_id, generation, step_key, entity_kind, stable_id, reason)
    SELECT op, gen, step, r.entity_kind, r.stable_id, compensation_end.reason FROM {{.Schema}}.hold_receipt r
     WHERE r.operation_id = op AND r.generation = gen AND r.step_key = step;
    INSERT INTO {{.Schema}}.hold_audit (operation_id, generation, action, actor, reason, state_before, state_after, item)
    VALUES (op, gen, 'quarantine', actor, compensation_end.reason, 'cancelled', 'cancelled', step);
  END IF;
  RETURN compensation_end.outcome;
END
$$;

-- compensation_finish marks the generation when every step has an outcome, and counts them. A
-- quarantined entity is an outcome: it does not keep the rest from being finished.
CREATE FUNCTION {{.Schema}}.compensation_finish(
  operation text, generation integer, actor text,
  OUT undone bigint, OUT quarantined bigint, OUT pending bigint, OUT changed boolean
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  op  uuid    := {{.Schema}}._uuid(operation, 'operation');
  gen integer := compensation_finish.generation;
BEGIN
  PERFORM {{.Schema}}._hold_check(op, gen, actor, NULL);
  -- Not FOR SHARE first: two that finish at once would wait for each other.
  PERFORM FROM {{.Schema}}.hold_generation g WHERE g.operation_id = op AND g.generation = gen FOR UPDATE;
  PERFORM {{.Schema}}._compensation_check(op, gen);
  SELECT count(*) FILTER (WHERE r.outcome = 'undone'), count(*) FILTER (WHERE r.outcome = 'quarantined'), count(*) FILTER (WHERE r.outcome IS NULL)
    INTO compensation_finish.undone, compensation_finish.quarantined, compensation_finish.pending
    FROM {{.Schema}}.hold_receipt r WHERE r.operation_id = op AND r.generation = gen;
  UPDATE {{.Schema}}.hold_generation g SET compensated_at = clock_timestamp()
   WHERE g.operation_id = op AND g.generation = gen AND g.compensated_at IS NULL AND compensation_finish.pending = 0;
  compensation_finish.changed := FOUND;
  IF compensation_finish.changed THEN
    INSERT INTO {{.Schema}}.hold_audit (operation_id, generation, action, actor, reason, state_before, state_after)
    VALUES (op, gen, 'compensate', actor, format('undone=%s quarantined=%s', compensation_finish.undone, compensation_finish.quarantined), 'cancelled', 'cancelled');
  END IF;
END
$$;

-- compensation_quarantined names what compensation left intact in a generation.
CREATE FUNCTION {{.Schema}}.compensation_quarantined(operation text, generation integer)
RETURNS TABLE (step_key text, entity_kind text, stable_id text, reason text, quarantined_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT q.step_key, q.entity_kind, q.stable_id, q.reason, q.quarantined_at FROM {{.Schema}}.hold_quarantine q
   WHERE q.operation_id = {{.Schema}}._uuid($1, 'operation') AND q.generation = $2 ORDER BY q.step_key
$$;

-- hold_prune removes generations that ended longer ago than retention, a day at least, and
-- their receipts: by full key, most receipts at a time. What somebody has locked is left for
-- the next call, so it waits for nobody. A generation goes after its last receipt; the mark
-- of its operation stays, so that it cannot come back.
CREATE FUNCTION {{.Schema}}.hold_prune(
  actor text, retention interval, most integer DEFAULT 1000, OUT generations bigint, OUT receipts bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  ended_before timestamptz := clock_timestamp() - greatest(hold_prune.retention, interval '1 day');
  rows_most    integer     := greatest(1, least(hold_prune.most, 10000));
  ops          uuid[];
  gens         integer[];
BEGIN
  IF hold_prune.actor IS NULL OR octet_length(hold_prune.actor) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'actor: must be 1 to 255 bytes', DETAIL = 'field=actor',
      HINT = 'Say who prunes: every change is audited.';
  ELSIF hold_prune.retention IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'retention: is null', DETAIL = 'field=retention',
      HINT = 'It must be longer than a coordinator may repeat its calls.';
  END IF;
  SELECT array_agg(d.operation_id), array_agg(d.generation) INTO ops, gens FROM (
    SELECT g.operation_id, g.generation FROM {{.Schema}}.hold_generation g
     WHERE g.state <> 'active' AND g.decided_at < ended_before AND (g.state = 'released' OR g.compensated_at < ended_before)
     ORDER BY g.decided_at LIMIT rows_most FOR UPDATE SKIP LOCKED) d;
  WITH old AS MATERIALIZED (
    SELECT r.operation_id, r.generation, r.step_key
      FROM unnest(ops, gens) AS u(operation_id, generation)
      JOIN {{.Schema}}.hold_receipt r ON r.operation_id = u.operation_id AND r.generation = u.generation
     LIMIT rows_most FOR UPDATE OF r SKIP LOCKED
  )
  DELETE FROM {{.Schema}}.hold_receipt r USING old o
   WHERE r.operation_id = o.operation_id AND r.generation = o.generation AND r.step_key = o.step_key;
  GET DIAGNOSTICS receipts = ROW_COUNT;
  DELETE FROM {{.Schema}}.hold_inquiry i USING unnest(ops, gens) AS u(operation_id, generation)
   WHERE i.operation_id = u.operation_id AND i.generation = u.generation;
  -- A later statement, so that it sees which receipts are left.
  WITH gone AS (
    DELETE FROM {{.Schema}}.hold_generation g USING unnest(ops, gens) AS u(operation_id, generation)
     WHERE g.operation_id = u.operation_id AND g.generation = u.generation
       AND NOT EXISTS (SELECT FROM {{.Schema}}.hold_receipt r WHERE r.operation_id = g.operation_id AND r.generation = g.generation)
    RETURNING g.operation_id, g.generation, g.state
  )
  INSERT INTO {{.Schema}}.hold_audit (operation_id, generation, action, actor, state_before)
  SELECT gone.operation_id, gone.generation, 'prune', hold_prune.actor, gone.state FROM gone;
  GET DIAGNOSTICS generations = ROW_COUNT;
END
$$;

-- hold_measure counts what waits, up to most events: by whether their generation is active,
-- overdue, or superseded by a later one, so that it can only be cancelled.
CREATE FUNCTION {{.Schema}}.hold_measure(
  most integer DEFAULT 100000, OUT held_active bigint, OUT held_overdue bigint, OUT held_superseded bigint, OUT oldest_held interval,
  OUT active bigint, OUT overdue bigint, OUT oldest_overdue interval, OUT uncompensated bigint, OUT quarantined bigint
)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
  WITH held AS MATERIALIZED (
    SELECT c.operation_id, c.generation, count(*) AS events, min(c.staged_at) AS oldest
      FROM (SELECT e.hold_operation_id AS operation_id, e.hold_generation AS generation, e.staged_at
              FROM {{.Schema}}.event_outbox e WHERE e.tx IS NULL LIMIT greatest(1, $1)) c
     GROUP BY c.operation_id, c.generation
  ), judged AS MATERIALIZED (
    SELECT h.events, h.oldest, g.generation < o.max_generation AS superseded, coalesce(g.expires_at <= clock_timestamp(), false) AS late
      FROM held h
      JOIN {{.Schema}}.hold_generation g ON g.operation_id = h.operation_id AND g.generation = h.generation
      JOIN {{.Schema}}.hold_operation o ON o.operation_id = h.operation_id
  ), waiting AS MATERIALIZED (
    SELECT count(*) AS active, count(*) FILTER (WHERE g.expires_at <= clock_timestamp()) AS overdue, min(g.expires_at) AS first
      FROM {{.Schema}}.hold_generation g WHERE g.state = 'active'
  )
  SELECT coalesce(sum(j.events) FILTER (WHERE NOT j.superseded AND NOT j.late), 0)::bigint,
         coalesce(sum(j.events) FILTER (WHERE NOT j.superseded AND j.late), 0)::bigint,
         coalesce(sum(j.events) FILTER (WHERE j.superseded), 0)::bigint,
         coalesce(greatest(clock_timestamp() - min(j.oldest), interval '0'), interval '0'),
         w.active, w.overdue, coalesce(greatest(clock_timestamp() - w.first, interval '0'), interval '0'),
         (SELECT count(*) FROM {{.Schema}}.hold_generation g WHERE g.state = 'cancelled' AND g.compensated_at IS NULL),
         (SELECT count(*) FROM {{.Schema}}.hold_quarantine)
    FROM waiting w LEFT JOIN judged j ON true
   GROUP BY w.active, w.overdue, w.first
$$;

-- The held twins of the publish functions.

CREATE FUNCTION {{.Schema}}._stage_one_held(
  operation text, generation integer, source text, type text, data bytea, id text, subject text, "time" text,
  datacontenttype text, dataschema text, partitionkey text, extensions text
) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  op uuid := {{.Schema}}._uuid(operation, 'operation');
BEGIN
  PERFORM {{.Schema}}._hold_gate(op, generation);
  RETURN {{.Schema}}._stage_one(op, generation, source, type, data, id, subject, "time", datacontenttype, dataschema, partitionkey, extensions);
END
$$;

CREATE FUNCTION {{.Schema}}.publish_events_held(
  operation text, generation integer,
  ids text[], sources text[], types text[], subjects text[], times text[],
  datacontenttypes text[], dataschemas text[], partitionkeys text[], extensions text[], data bytea[]
) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  op uuid := {{.Schema}}._uuid(operation, 'operation');
BEGIN
  PERFORM {{.Schema}}._hold_gate(op, generation);
  RETURN {{.Schema}}._stage(op, generation, ids, sources, types, subjects, times, datacontenttypes, dataschemas, partitionkeys, extensions, data);
END
$$;

CREATE FUNCTION {{.Schema}}.publish_held(
  operation text, generation integer,
  source text, type text, data bytea DEFAULT NULL, id text DEFAULT NULL, subject text DEFAULT NULL, "time" text DEFAULT NULL,
  datacontenttype text DEFAULT 'application/json', dataschema text DEFAULT NULL, partitionkey text DEFAULT NULL, extensions text DEFAULT NULL
) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT {{.Schema}}._stage_one_held(operation, generation, source, type, data, id, subject, "time", datacontenttype, dataschema, partitionkey, extensions)
$$;

CREATE FUNCTION {{.Schema}}.publish_held_text(
  operation text, generation integer,
  source text, type text, data text DEFAULT NULL, id text DEFAULT NULL, subject text DEFAULT NULL, "time" text DEFAULT NULL,
  datacontenttype text DEFAULT 'application/json', dataschema text DEFAULT NULL, partitionkey text DEFAULT NULL, extensions text DEFAULT NULL
) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT {{.Schema}}._stage_one_held(operation, generation, source, type, convert_to(data, 'UTF8'), id, subject, "time", datacontenttype, dataschema, partitionkey, extensions)
$$;

CREATE FUNCTION {{.Schema}}.publish_held_base64(
  operation text, generation integer,
  source text, type text, data text DEFAULT NULL, id text DEFAULT NULL, subject text DEFAULT NULL, "time" text DEFAULT NULL,
  datacontenttype text DEFAULT 'application/json', dataschema text DEFAULT NULL, partitionkey text DEFAULT NULL, extensions text DEFAULT NULL
) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT {{.Schema}}._stage_one_held(operation, generation, source, type, {{.Schema}}._base64(id, data), id, subject, "time", datacontenttype, dataschema, partitionkey, extensions)
$$;

-- Rights are granted by name (outbox-gen roles), never to everybody.
REVOKE ALL ON FUNCTION
  {{.Schema}}._receipt_has_id(),
  {{.Schema}}._audit_is_append_only(),
  {{.Schema}}._hold_refuse(uuid, integer, text, integer),
  {{.Schema}}._hold_check(uuid, integer, text, text),
  {{.Schema}}._hold_check_isolation(),
  {{.Schema}}._hold_gate(uuid, integer),
  {{.Schema}}._hold_row(uuid, integer, boolean),
  {{.Schema}}._hold_due(text),
  {{.Schema}}._stage_one_held(text, integer, text, text, bytea, text, text, text, text, text, text, text),
  {{.Schema}}.hold_register(text, integer, text, text, text),
  {{.Schema}}.hold_release(text, integer, text, text),
  {{.Schema}}.hold_cancel(text, integer, text, text, text),
  {{.Schema}}.hold_state(text, integer),
  {{.Schema}}.receipt_begin(text, integer, text, text, text, text),
  {{.Schema}}.receipt_complete(text, integer, text, text),
  {{.Schema}}.hold_list(text, text, boolean, text, integer, integer),
  {{.Schema}}.hold_events(text, integer, bigint, integer),
  {{.Schema}}.hold_drop_event(text, integer, text, text, text, text),
  {{.Schema}}.hold_overdue(interval, boolean, integer),
  {{.Schema}}.compensation_due(interval, integer),
  {{.Schema}}.hold_put_off(text, integer, text, interval),
  {{.Schema}}._compensation_check(uuid, integer),
  {{.Schema}}._compensation_mark(text, integer, text),
  {{.Schema}}.compensation_receipts(text, integer, text, integer),
  {{.Schema}}.compensation_begin(text, integer, text),
  {{.Schema}}.compensation_end(text, integer, text, text, text, text),
  {{.Schema}}.compensation_finish(text, integer, text),
  {{.Schema}}.compensation_quarantined(text, integer),
  {{.Schema}}.hold_prune(text, interval, integer),
  {{.Schema}}.hold_measure(integer),
  {{.Schema}}.publish_events_held(text, integer, text[], text[], text[], text[], text[], text[], text[], text[], text[], bytea[]),
  {{.Schema}}.publish_held(text, integer, text, text, bytea, text, text, text, text, text, text, text),
  {{.Schema}}.publish_held_text(text, integer, text, text, text, text, text, text, text, text, text, text),
  {{.Schema}}.publish_held_base64(text, integer, text, text, text, text, text, text, text, text, text, text)
FROM PUBLIC;
