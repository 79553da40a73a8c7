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
  PRIMARY KEY (operation_id, generation),
  CHECK ((state = 'active') = (decided_at IS NULL)),
  CHECK ((decided_at IS NULL) = (decided_by IS NULL))
);
-- What the alarms and the expiry look at; decided generations are not in it.
CREATE INDEX hold_generation_active ON {{.Schema}}.hold_generation (expires_at, registered_at) WHERE state = 'active';

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
  PRIMARY KEY (operation_id, generation, step_key),
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
  action       text        NOT NULL CHECK (action IN ('register', 'release', 'cancel', 'drop', 'expire', 'drop-event', 'prune')),
  actor        text        NOT NULL CHECK (octet_length(actor) BETWEEN 1 AND 255),
  reason       text        CHECK (octet_length(reason) <= 1024),
  state_before text,
  state_after  text,
  events       bigint      NOT NULL DEFAULT 0
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
  INSERT INTO {{.Schema}}.hold_generation AS g
    (operation_id, generation, principal, state, decided_at, decided_by, reason, held_count, dropped_count)
  VALUES (op, gen, actor, 'cancelled', clock_timestamp(), actor, hold_cancel.reason, gone, gone)
  ON CONFLICT (operation_id, generation) DO UPDATE
     SET state = 'cancelled', decided_at = excluded.decided_at, decided_by = excluded.decided_by, reason = excluded.reason,
         held_count = excluded.held_count, dropped_count = excluded.dropped_count;
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
  {{.Schema}}.publish_events_held(text, integer, text[], text[], text[], text[], text[], text[], text[], text[], text[], bytea[]),
  {{.Schema}}.publish_held(text, integer, text, text, bytea, text, text, text, text, text, text, text),
  {{.Schema}}.publish_held_text(text, integer, text, text, text, text, text, text, text, text, text, text),
  {{.Schema}}.publish_held_base64(text, integer, text, text, text, text, text, text, text, text, text, text)
FROM PUBLIC;
