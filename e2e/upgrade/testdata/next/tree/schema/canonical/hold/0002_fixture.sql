-- A version that is only for tests.
CREATE INDEX hold_audit_actor ON {{.Schema}}.hold_audit (actor);
