-- What a coordinator knows of the operations that it drives over several services. It lies
-- in the coordinator's own database and needs no other component.

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

-- One row for each operation, under the id that was reserved for its result. The row, under
-- its lock, decides who works on the operation and what became of it.
--
--   in_progress  --> completed                      the final transaction
--   in_progress  --> compensating --> aborted       the lease was over for longer than the grace
--                    compensating --> stuck         given up; a person decides
--   aborted      --> in_progress                    the next generation
--   stuck        --> compensating                   a person's retry
--
-- The lease is a token and a time, judged by the clock of this database. It is of a client
-- while in_progress, and of a reconciler while compensating.
CREATE TABLE {{.Schema}}.saga_operation (
  operation_id     uuid        NOT NULL,
  lease_holder     uuid, -- of one claim; not the name of a process
  created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(), -- of the last change of state
  lease_expires_at timestamptz,
  next_attempt_at  timestamptz NOT NULL DEFAULT clock_timestamp(), -- of the reconciler
  generation       integer     NOT NULL DEFAULT 1 CHECK (generation > 0),
  attempts         integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0), -- of the reconciler, that failed
  events_released  boolean     NOT NULL DEFAULT false, -- every participant has confirmed it
  kind             text        NOT NULL CHECK (octet_length(kind) BETWEEN 1 AND 100),
  state            text        NOT NULL DEFAULT 'in_progress'
                   CHECK (state IN ('in_progress', 'compensating', 'completed', 'aborted', 'stuck')),
  digest_key_id    text        NOT NULL CHECK (octet_length(digest_key_id) BETWEEN 1 AND 64),
  -- A keyed digest of the whole request: pinned for the generation, like the basis.
  request_digest   bytea       NOT NULL CHECK (octet_length(request_digest) = 32),
  -- Written before the first of them is called, so that cancel finds all of them.
  participants     text[]      NOT NULL
                   CHECK (cardinality(participants) >= 1 AND cardinality(participants) <= 64 AND array_position(participants, NULL) IS NULL),
  -- Whatever varies between two runs, such as the date of today.
  basis            jsonb       NOT NULL,
  result           jsonb,
  CONSTRAINT saga_operation_pkey PRIMARY KEY (operation_id),
  CONSTRAINT saga_operation_lease CHECK (num_nulls(lease_holder, lease_expires_at) IN (0, 2)),
  CONSTRAINT saga_operation_held CHECK (state <> 'in_progress' OR lease_holder IS NOT NULL),
  CONSTRAINT saga_operation_let_go CHECK (state IN ('in_progress', 'compensating') OR lease_holder IS NULL),
  CONSTRAINT saga_operation_result CHECK ((state = 'completed') = (result IS NOT NULL)),
  CONSTRAINT saga_operation_released CHECK (state = 'completed' OR NOT events_released)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX saga_operation_expired ON {{.Schema}}.saga_operation (state, lease_expires_at)
  WHERE state IN ('in_progress', 'compensating');
CREATE INDEX saga_operation_unreleased ON {{.Schema}}.saga_operation (next_attempt_at)
  WHERE state = 'completed' AND NOT events_released;
CREATE INDEX saga_operation_stuck ON {{.Schema}}.saga_operation (updated_at) WHERE state = 'stuck';
CREATE INDEX saga_operation_finished ON {{.Schema}}.saga_operation (updated_at)
  WHERE state = 'aborted' OR state = 'completed' AND events_released;

-- Steps that a participant has answered: a cache, which saves calls. The receipts of the
-- participants are the truth.
CREATE TABLE {{.Schema}}.saga_step (
  operation_id uuid        NOT NULL REFERENCES {{.Schema}}.saga_operation (operation_id) ON DELETE CASCADE,
  recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  generation   integer     NOT NULL CHECK (generation > 0),
  step_key     text        NOT NULL CHECK (octet_length(step_key) <= 200 AND step_key ~ '^[a-z][a-z0-9_.-]*(:(0|[1-9][0-9]{0,8}))?$'),
  remote_kind  text        NOT NULL CHECK (octet_length(remote_kind) BETWEEN 1 AND 100),
  remote_id    text        NOT NULL CHECK (octet_length(remote_id) BETWEEN 1 AND 255),
  CONSTRAINT saga_step_pkey PRIMARY KEY (operation_id, generation, step_key)
);

-- What was done to operations by others than their clients. Only ever added to.
CREATE TABLE {{.Schema}}.saga_audit (
  id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  operation_id uuid        NOT NULL,
  at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  generation   integer     NOT NULL,
  action       text        NOT NULL CHECK (action IN ('compensate', 'abort', 'give_up', 'retry', 'order_abort')),
  actor        text        NOT NULL CHECK (octet_length(actor) BETWEEN 1 AND 255),
  reason       text        CHECK (octet_length(reason) BETWEEN 1 AND 1024),
  state_before text        NOT NULL,
  state_after  text        NOT NULL
);
CREATE INDEX saga_audit_of ON {{.Schema}}.saga_audit (operation_id, id);

-- Which pod reconciles. It saves work and protects nothing: two that do are harmless.
CREATE TABLE {{.Schema}}.saga_reconciler (
  one         boolean     NOT NULL DEFAULT true PRIMARY KEY CHECK (one), -- there is one row
  lease_until timestamptz,
  lease_token uuid,
  ticked_at   timestamptz, -- the last tick that went through
  CONSTRAINT saga_reconciler_lease CHECK (num_nulls(lease_token, lease_until) IN (0, 2))
) WITH (fillfactor = 10);

INSERT INTO {{.Schema}}.saga_reconciler DEFAULT VALUES;

-- _saga_actor refuses an act of a person without a name or a reason.
CREATE FUNCTION {{.Schema}}._saga_actor(actor text, reason text) RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF _saga_actor.actor IS NULL OR octet_length(_saga_actor.actor) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'actor: must be 1 to 255 bytes', DETAIL = 'field=actor',
      HINT = 'Say who decides: every change is audited.';
  ELSIF _saga_actor.reason IS NULL OR octet_length(_saga_actor.reason) NOT BETWEEN 1 AND 1024 THEN
    RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'reason: must be 1 to 1024 bytes', DETAIL = 'field=reason',
      HINT = 'Say why in a few words: they are kept in the audit.';
  END IF;
END
$$;

-- saga_retry makes an operation due now, with all its attempts: one that is stuck or is being
-- compensated, or one that is completed and not released. Of any other, and of one that is
-- not there, whose state is null, nothing is changed.
CREATE FUNCTION {{.Schema}}.saga_retry(operation uuid, actor text, reason text, OUT state text, OUT changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  was {{.Schema}}.saga_operation;
BEGIN
  PERFORM {{.Schema}}._saga_actor(saga_retry.actor, saga_retry.reason);
  SELECT s.* INTO was FROM {{.Schema}}.saga_operation s WHERE s.operation_id = saga_retry.operation FOR UPDATE;
  state := was.state;
  changed := coalesce(was.state IN ('stuck', 'compensating') OR was.state = 'completed' AND NOT was.events_released, false);
  IF NOT changed THEN
    RETURN;
  END IF;
  state := CASE was.state WHEN 'stuck' THEN 'compensating' ELSE was.state END;
  UPDATE {{.Schema}}.saga_operation s
     SET state = saga_retry.state, attempts = 0, next_attempt_at = clock_timestamp(),
         updated_at = CASE was.state WHEN 'stuck' THEN clock_timestamp() ELSE s.updated_at END
   WHERE s.operation_id = saga_retry.operation;
  INSERT INTO {{.Schema}}.saga_audit (operation_id, generation, action, actor, reason, state_before, state_after)
  VALUES (was.operation_id, was.generation, 'retry', saga_retry.actor, saga_retry.reason, was.state, saga_retry.state);
END
$$;

-- saga_abort orders that an operation is compensated now and not after the grace. It takes one
-- that is in progress and whose lease is over: a holder that lives is not interrupted. The
-- reconciler does the rest. Of any other, and of one that is not there, whose state is null,
-- nothing is changed.
CREATE FUNCTION {{.Schema}}.saga_abort(operation uuid, actor text, reason text, OUT state text, OUT changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  was {{.Schema}}.saga_operation;
BEGIN
  PERFORM {{.Schema}}._saga_actor(saga_abort.actor, saga_abort.reason);
  SELECT s.* INTO was FROM {{.Schema}}.saga_operation s WHERE s.operation_id = saga_abort.operation FOR UPDATE;
  state := was.state;
  changed := coalesce(was.state = 'in_progress' AND was.lease_expires_at <= clock_timestamp(), false);
  IF NOT changed THEN
    RETURN;
  END IF;
  state := 'compensating';
  UPDATE {{.Schema}}.saga_operation s
     SET state = 'compensating', lease_holder = NULL, lease_expires_at = NULL, attempts = 0,
         next_attempt_at = clock_timestamp(), updated_at = clock_timestamp()
   WHERE s.operation_id = saga_abort.operation;
  INSERT INTO {{.Schema}}.saga_audit (operation_id, generation, action, actor, reason, state_before, state_after)
  VALUES (was.operation_id, was.generation, 'order_abort', saga_abort.actor, saga_abort.reason, was.state, saga_abort.state);
END
$$;

REVOKE ALL ON FUNCTION
  {{.Schema}}._saga_actor(text, text),
  {{.Schema}}.saga_retry(uuid, text, text),
  {{.Schema}}.saga_abort(uuid, text, text)
FROM PUBLIC;
