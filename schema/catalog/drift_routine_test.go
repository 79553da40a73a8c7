package catalog_test

// uuidV7 is a function of ours; what differs is put in place of %s.
const uuidV7 = `CREATE OR REPLACE FUNCTION outbox.uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp AS $$ SELECT gen_random_uuid() $$`

var routineDrifts = []drift{
	{name: "function body", do: uuidV7,
		want: []string{"function uuid_v7(): body"}, matters: true},
	{name: "function volatility", do: "ALTER FUNCTION outbox.hold_release(text, integer, text, text) STABLE",
		want: []string{"function hold_release(text, integer, text, text): volatility"}, matters: true},
	{name: "function not of its owner", do: "ALTER FUNCTION outbox.publish_events(text[], text[], text[], text[], text[], text[], text[], text[], text[], bytea[]) SECURITY INVOKER",
		want: []string{"function publish_events(text[], text[], text[], text[], text[], text[], text[], text[], text[], bytea[]): security"}, matters: true},
	{name: "function search path", do: "ALTER FUNCTION outbox.hold_state(text, integer) SET search_path = public, pg_catalog",
		want: []string{"function hold_state(text, integer): setting search_path"}, matters: true},
	{name: "function search path missing", do: "ALTER FUNCTION outbox.hold_state(text, integer) RESET search_path",
		want: []string{"function hold_state(text, integer): setting search_path"}, matters: true},
	{name: "function setting missing", do: "ALTER FUNCTION outbox.hold_release(text, integer, text, text) RESET enable_seqscan",
		want: []string{"function hold_release(text, integer, text, text): setting enable_seqscan"}, matters: true},
	{name: "function setting extra", do: "ALTER FUNCTION outbox.hold_release(text, integer, text, text) SET work_mem = '64kB'",
		want: []string{"function hold_release(text, integer, text, text): setting work_mem"}, matters: true},
	{name: "function strict", do: "ALTER FUNCTION outbox._uuid(text, text) STRICT",
		want: []string{"function _uuid(text, text): strict"}, matters: true},
	{name: "function leakproof", do: "ALTER FUNCTION outbox._uuid(text, text) LEAKPROOF",
		want: []string{"function _uuid(text, text): leakproof"}, matters: true},
	{name: "function parallel", do: "ALTER FUNCTION outbox._uuid(text, text) PARALLEL SAFE",
		want: []string{"function _uuid(text, text): parallel"}},
	{name: "function cost", do: "ALTER FUNCTION outbox._uuid(text, text) COST 5",
		want: []string{"function _uuid(text, text): cost"}},
	{name: "function rows", do: "ALTER FUNCTION outbox.hold_state(text, integer) ROWS 5",
		want: []string{"function hold_state(text, integer): rows"}},
	{name: "function argument names", do: `DROP FUNCTION outbox._hold_due(text);
		CREATE FUNCTION outbox._hold_due(due text) RETURNS timestamptz LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS 'SELECT now()';
		REVOKE ALL ON FUNCTION outbox._hold_due(text) FROM PUBLIC`,
		want: []string{"function _hold_due(text): arguments", "function _hold_due(text): language", "function _hold_due(text): body"}, matters: true},
	{name: "function result", do: `DROP FUNCTION outbox.uuid_v7();
		CREATE FUNCTION outbox.uuid_v7() RETURNS text LANGUAGE sql PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS 'SELECT NULL';
		CREATE ROLE drift_caller; GRANT EXECUTE ON FUNCTION outbox.uuid_v7() TO drift_caller; REVOKE ALL ON FUNCTION outbox.uuid_v7() FROM PUBLIC`,
		want: []string{"function uuid_v7(): result", "function uuid_v7(): body"}, matters: true},
	{name: "function with a parsed body", do: `CREATE OR REPLACE FUNCTION outbox.uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
		SET search_path = pg_catalog, pg_temp RETURN gen_random_uuid()`,
		want: []string{"function uuid_v7(): SQL body", "function uuid_v7(): body"}, matters: true},
	{name: "function missing", do: "DROP FUNCTION outbox.uuid_v7()",
		want: []string{"function uuid_v7(): existence"}, matters: true},
	{name: "function with two results missing", do: "DROP FUNCTION outbox.receipt_begin(text, integer, text, text, text, text)",
		want: []string{"function receipt_begin(text, integer, text, text, text, text): existence"}, matters: true},
	{name: "function overloaded", do: "CREATE FUNCTION outbox.publish(source text, type text) RETURNS text LANGUAGE sql AS 'SELECT 1'",
		want: []string{"function publish(text, text): existence"}, matters: true},
	{name: "function overloaded by a procedure", do: "CREATE PROCEDURE outbox.publish(source text) LANGUAGE sql AS 'SELECT 1'",
		want: []string{"function publish(text): existence"}, matters: true},
	{name: "function of a stranger", do: `CREATE ROLE drift_stranger; GRANT CREATE ON SCHEMA outbox TO drift_stranger;
		ALTER FUNCTION outbox.hold_state(text, integer) OWNER TO drift_stranger`,
		want: []string{"function hold_state(text, integer): owner"}, matters: true},
	{name: "view definition", do: `CREATE OR REPLACE VIEW outbox.event_outbox_info AS
		SELECT event_id, source, type, subject, "time", partition_key, datacontenttype, dataschema, extensions,
		length(data) AS data_bytes, tx IS NULL AS held, hold_operation_id, hold_generation, staged_at, lane, seq, slot, tx
		FROM outbox.event_outbox`,
		want: []string{"view event_outbox_info: definition"}, matters: true},
	{name: "view missing", do: "DROP VIEW outbox.event_outbox_info",
		want: []string{"view event_outbox_info: existence"}, matters: true},
	{name: "view of its caller", do: "ALTER VIEW outbox.event_outbox_info SET (security_invoker = true)",
		want: []string{"view event_outbox_info: option security_invoker"}, matters: true, since: 15},
	{name: "view of a stranger", do: `CREATE ROLE drift_stranger; GRANT CREATE ON SCHEMA outbox TO drift_stranger;
		ALTER VIEW outbox.event_outbox_info OWNER TO drift_stranger`,
		want: []string{"view event_outbox_info: owner"}, matters: true},
}

var rightsDrifts = []drift{
	{name: "everybody executes", do: "GRANT EXECUTE ON FUNCTION outbox._uuid(text, text) TO PUBLIC",
		want: []string{"function _uuid(text, text): rights of PUBLIC"}, matters: true},
	{name: "everybody reads", do: "GRANT SELECT ON outbox.event_outbox TO PUBLIC",
		want: []string{"table event_outbox: rights of PUBLIC"}, matters: true},
	{name: "everybody reads a column", do: "GRANT SELECT (data), UPDATE (data) ON outbox.event_outbox TO PUBLIC",
		want: []string{"table event_outbox: rights of PUBLIC"}, matters: true},
	{name: "everybody reads a partition", do: "GRANT SELECT ON outbox.event_outbox_0 TO PUBLIC",
		want: []string{"table event_outbox_0: rights of PUBLIC"}, matters: true},
	{name: "everybody draws positions", do: "GRANT USAGE ON SEQUENCE outbox.event_outbox_seq TO PUBLIC",
		want: []string{"sequence event_outbox_seq: rights of PUBLIC"}, matters: true},
	{name: "everybody reads a view", do: "GRANT SELECT ON outbox.event_outbox_info TO PUBLIC",
		want: []string{"view event_outbox_info: rights of PUBLIC"}, matters: true},
	{name: "everybody creates", do: "GRANT CREATE, USAGE ON SCHEMA outbox TO PUBLIC",
		want: []string{"schema: rights of PUBLIC"}, matters: true},
}
