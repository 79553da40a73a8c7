package catalog_test

// otherType makes a domain anew with another type, for columns that are cast to it.
const otherType = `ALTER TABLE outbox.event_outbox DROP CONSTRAINT event_outbox_values;
	DROP DOMAIN outbox.event_outbox_subject;
	CREATE DOMAIN outbox.event_outbox_subject AS varchar(1024) CONSTRAINT event_outbox_subject CHECK (value <> '');
	REVOKE ALL ON DOMAIN outbox.event_outbox_subject FROM PUBLIC;
	ALTER TABLE outbox.event_outbox ADD CONSTRAINT event_outbox_values CHECK (num_nulls(
		event_id::outbox.event_outbox_event_id, source::outbox.event_outbox_source, type::outbox.event_outbox_type,
		subject::outbox.event_outbox_subject, datacontenttype::outbox.event_outbox_datacontenttype,
		dataschema::outbox.event_outbox_dataschema, partition_key::outbox.event_outbox_partition_key,
		time::outbox.event_outbox_time, extensions::outbox.event_outbox_extensions, data::outbox.event_outbox_data) >= 0);`

// otherCollation does the same for a column that is of its domain.
const otherCollation = `ALTER TABLE outbox.consumer_inbox ALTER COLUMN consumer TYPE text;
	DROP DOMAIN outbox.consumer_inbox_consumer;
	CREATE DOMAIN outbox.consumer_inbox_consumer AS text COLLATE "C" CONSTRAINT consumer_inbox_consumer_check CHECK (octet_length(value) BETWEEN 1 AND 64);
	REVOKE ALL ON DOMAIN outbox.consumer_inbox_consumer FROM PUBLIC;
	ALTER TABLE outbox.consumer_inbox ALTER COLUMN consumer TYPE outbox.consumer_inbox_consumer;`

var domainDrifts = []drift{
	{name: "domain missing", do: "DROP DOMAIN outbox.event_outbox_type CASCADE",
		want: []string{"domain event_outbox_type: existence", "constraint event_outbox.event_outbox_values: existence"}, matters: true},
	{name: "domain of a column missing", do: `ALTER TABLE outbox.consumer_fact ALTER COLUMN event_id TYPE text;
		DROP DOMAIN outbox.consumer_fact_event_id`,
		want: []string{"domain consumer_fact_event_id: existence", "column consumer_fact.event_id: type"}, matters: true},
	{name: "domain missing with its column", do: "DROP DOMAIN outbox.consumer_fact_fact_key CASCADE",
		want: []string{"domain consumer_fact_fact_key: existence", "column consumer_fact.fact_key: existence",
			"constraint consumer_fact.consumer_fact_identity: existence"}, matters: true},
	{name: "domain renamed", do: "ALTER DOMAIN outbox.event_outbox_type RENAME TO mine",
		want: []string{"domain event_outbox_type: existence", "constraint event_outbox.event_outbox_values: definition"}, matters: true},
	{name: "domain of another type", do: otherType, want: []string{"domain event_outbox_subject: type"}, matters: true},
	{name: "domain of another collation", do: otherCollation,
		want: []string{"domain consumer_inbox_consumer: collation"}, matters: true},
	{name: "domain not null", do: "ALTER DOMAIN outbox.event_outbox_source SET NOT NULL",
		want: []string{"domain event_outbox_source: not null"}, matters: true},
	{name: "domain with a default", do: "ALTER DOMAIN outbox.event_outbox_source SET DEFAULT '/x'",
		want: []string{"domain event_outbox_source: default"}, matters: true},
	// What follows the drop makes the server send word of it: without, a savepoint of this
	// transaction could change nothing.
	{name: "domain without its constraint", do: `ALTER DOMAIN outbox.event_outbox_data DROP CONSTRAINT event_outbox_data;
		UPDATE outbox.holdfast_schema SET version = version`,
		want: []string{"domain event_outbox_data: check event_outbox_data"}, matters: true},
	{name: "domain with another constraint", do: `ALTER DOMAIN outbox.event_outbox_data DROP CONSTRAINT event_outbox_data;
		ALTER DOMAIN outbox.event_outbox_data ADD CONSTRAINT event_outbox_data CHECK (octet_length(value) <= 2000000)`,
		want: []string{"domain event_outbox_data: check event_outbox_data"}, matters: true},
	{name: "domain with one more constraint", do: `ALTER DOMAIN outbox.event_outbox_type ADD CONSTRAINT "My rule" CHECK (value <> 'x')`,
		want: []string{"domain event_outbox_type: check My rule"}, matters: true},
	{name: "domain with a constraint under another name", do: "ALTER DOMAIN outbox.consumer_fact_source RENAME CONSTRAINT consumer_fact_source_check TO mine",
		want: []string{"domain consumer_fact_source: check consumer_fact_source_check", "domain consumer_fact_source: check mine"}, matters: true},
	{name: "domain never checked", do: `ALTER DOMAIN outbox.consumer_fact_source DROP CONSTRAINT consumer_fact_source_check;
		ALTER DOMAIN outbox.consumer_fact_source ADD CONSTRAINT consumer_fact_source_check CHECK (octet_length(value) BETWEEN 1 AND 512) NOT VALID`,
		want: []string{"domain consumer_fact_source: check consumer_fact_source_check"}, matters: true},
	{name: "column of its plain type", do: "ALTER TABLE outbox.consumer_inbox ALTER COLUMN deliveries TYPE integer",
		want: []string{"column consumer_inbox.deliveries: type"}, matters: true},
	{name: "column of somebody's domain", do: `CREATE DOMAIN outbox.event_outbox_tenant AS text CHECK (value <> 'x');
		ALTER TABLE outbox.consumer_fact ALTER COLUMN source TYPE outbox.event_outbox_tenant`,
		want: []string{"column consumer_fact.source: type"}, matters: true},
	{name: "everybody uses a domain", do: "GRANT USAGE ON DOMAIN outbox.event_outbox_type TO PUBLIC",
		want: []string{"domain event_outbox_type: rights of PUBLIC"}},
}
