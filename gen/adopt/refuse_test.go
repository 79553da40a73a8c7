package adopt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/gen/adopt"
)

func TestLookRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		name string
		sql  string // on top of the flag table
		opts adopt.Options
		want []string // of each reason, a part
	}{
		{name: "no source", opts: adopt.Options{}, want: []string{"no column holds the source"}},
		{name: "unknown column", sql: "ALTER TABLE outbox_events ADD tenant text, ADD region text", want: []string{"column tenant has no meaning", "column region has no meaning"}},
		{name: "trigger", sql: "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER tell AFTER INSERT ON outbox_events FOR EACH ROW EXECUTE FUNCTION f()", want: []string{"trigger tell"}},
		{name: "foreign key on it", sql: "CREATE TABLE log (outbox_id bigint CONSTRAINT points REFERENCES outbox_events)", want: []string{"foreign key points of public.log"}},
		{name: "child", sql: "CREATE TABLE more () INHERITS (outbox_events)", want: []string{"partitions or inherits: public.more"}},
		{name: "rule", sql: "CREATE RULE twice AS ON DELETE TO outbox_events DO NOTHING", want: []string{"rule twice"}},
		{name: "row security", sql: "ALTER TABLE outbox_events ENABLE ROW LEVEL SECURITY", want: []string{"row security"}},
		{name: "no primary key", sql: "ALTER TABLE outbox_events DROP CONSTRAINT outbox_events_pkey", want: []string{"no primary key"}},
		{name: "several things", sql: "ALTER TABLE outbox_events ADD tenant text, DROP CONSTRAINT outbox_events_pkey", want: []string{"no primary key", "column tenant"}},
		{name: "rows that break a constraint", sql: "UPDATE outbox_events SET event_type = 'order placed' WHERE id IN (2, 4); UPDATE outbox_events SET aggregate_id = '" + long + "' WHERE id = 3",
			want: []string{"1 rows, because of event_outbox_partition_key: 3", "2 rows, because of event_outbox_type: 2, 4"}},
		{name: "published rows may break one", sql: "UPDATE outbox_events SET event_type = 'order placed' WHERE id = 1", want: nil},
		{name: "too large", sql: "UPDATE outbox_events SET payload = to_jsonb(repeat('x', 2000)) WHERE id = 4", opts: adopt.Options{Params: small, Constants: source}, want: []string{"event_outbox_data: 4"}},
		{name: "two events with one id", opts: adopt.Options{Constants: source, Columns: map[adopt.Attribute]string{adopt.ID: "aggregate_id", adopt.PartitionKey: "aggregate_id"}, Ignore: []string{"event_id"}}, want: []string{"1 ids have more than one event: A-1"}},
		{name: "no order", opts: adopt.Options{Constants: source, Order: []string{"created_at"}}, want: []string{"created_at does not tell the order of the events of 1 keys: A-1"}},
		{name: "a sequence with a cache", sql: "ALTER SEQUENCE outbox_events_id_seq CACHE 10", opts: adopt.Options{Constants: source, Ignore: []string{"id"}}, want: []string{"nothing tells the order of the events of one key, and 1 keys have several: A-1"}},
		{name: "the sequence was named", sql: "ALTER SEQUENCE outbox_events_id_seq CACHE 10", opts: adopt.Options{Constants: source, Order: []string{"id"}}},
		{name: "time without zone", sql: "ALTER TABLE outbox_events ALTER created_at TYPE timestamp", want: []string{"column created_at has times without a zone"}},
		{name: "options that name no column", opts: adopt.Options{
			Constants: source, Columns: map[adopt.Attribute]string{adopt.Subject: "topic", adopt.Time: "payload.at"}, Order: []string{"nr"}, Ignore: []string{"x"}, Extensions: map[string]string{"a": "b", "c": "payload", "d": "event_type.x"},
		}, want: []string{"--subject-column: there is no column topic", "time can't be a field", "--extension a: there is no column b", "--extension c: column payload has the type jsonb", "--extension d: column event_type has the type text, which has no fields", "--order-column: there is no column nr", "--ignore-column: there is no column x", "column created_at has no meaning"}},
		{name: "a field of an unknown column", sql: "ALTER TABLE outbox_events ADD info jsonb", opts: adopt.Options{Constants: source, Columns: map[adopt.Attribute]string{adopt.Subject: "info.subject"}}, want: []string{"column info has no meaning"}},
		{name: "no flag column", opts: adopt.Options{Constants: source, Published: "sent"}, want: []string{"there is no column sent"}},
		{name: "no such flag", opts: adopt.Options{Constants: source, Published: "attempts"}, want: []string{"which does not tell what was published"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opts := c.opts
			if opts.Constants == nil && c.name != "no source" {
				opts.Constants = source
			}
			wantReasons(t, flagTable+c.sql, opts, c.want)
		})
	}
}

func TestLookRefusesShapes(t *testing.T) {
	t.Parallel()
	status := adopt.Options{Constants: with(adopt.DataContentType, "application/json"), Ignore: []string{"headers.Correlation-Id"}}
	for _, c := range []struct {
		name string
		sql  string
		opts adopt.Options
		want []string
	}{
		{name: "no shape", sql: "CREATE TABLE notes (id int PRIMARY KEY, text text)", opts: adopt.Options{Table: "notes"}, want: []string{"the shape of no outbox that is known; its columns are id, text"}},
		{name: "partitions", sql: "CREATE TABLE outbox_events (id bigint PRIMARY KEY, event_type text, key text, payload text, published_at timestamptz) PARTITION BY RANGE (id); CREATE TABLE p PARTITION OF outbox_events DEFAULT",
			opts: adopt.Options{Constants: with(adopt.DataContentType, "a/b")}, want: []string{"partitions or inherits: public.p", "it is a partitioned table"}},
		{name: "status in flight", sql: statusTable + "UPDATE messages_outbox SET status = 'SENDING' WHERE id = 'm2'", opts: status, want: []string{`status is "SENDING" in 1 rows: nobody knows`}},
		{name: "status unknown", sql: strings.Replace(statusTable, "'SENDING'", "'SENDING', 'FAILED'", 1) + "UPDATE messages_outbox SET status = 'FAILED' WHERE id = 'm2'", opts: status, want: []string{`status is "FAILED" in 1 rows, a word that is not known`}},
		{name: "no word for published", sql: statusTable + "DELETE FROM messages_outbox WHERE id = 'm1'", opts: status, want: []string{"no row tells with what status"}},
		{name: "field that is no name", sql: statusTable, opts: adopt.Options{Constants: status.Constants}, want: []string{"field Correlation-Id of headers is no name of an extension"}},
		{name: "headers that are no object", sql: statusTable + "UPDATE messages_outbox SET headers = '[1]' WHERE id = 'm2'", opts: status, want: []string{"headers is no JSON object in 1 rows: m2"}},
		{name: "header that is an object", sql: statusTable + `UPDATE messages_outbox SET headers = '{"a":{}}' WHERE id = 'm2'`, opts: status, want: []string{"event_outbox_extensions: m2"}},
		{name: "debezium does not tell", sql: debeziumTable, opts: adopt.Options{Constants: source, Order: []string{"timestamp"}}, want: []string{"it does not tell which of its 2 rows were published"}},
		{name: "debezium without order", sql: debeziumTable, opts: adopt.Options{Constants: source, Rows: adopt.RowsAll}, want: []string{"nothing tells the order of the events of one key, and 1 keys have several: A-1"}},
		{name: "watermill without type and key", sql: watermillTable, opts: adopt.Options{Constants: source, TimeZone: "UTC"}, want: []string{"type of an event", "key by which events are in order"}},
		{name: "watermill with two groups", sql: watermillTable + "INSERT INTO watermill_offsets_orders VALUES ('other', 0, '0')", opts: adopt.Options{Constants: with(adopt.Type, "t"), NoKey: true, TimeZone: "UTC"}, want: []string{`the consumer groups are ["forwarder" "other"]`}},
		{name: "watermill without offsets", sql: watermillTable + "DROP TABLE watermill_offsets_orders", opts: adopt.Options{Constants: with(adopt.Type, "t"), NoKey: true, TimeZone: "UTC"}, want: []string{"watermill_offsets_orders, in which watermill keeps"}},
		{name: "watermill with envelopes", sql: watermillTable + `UPDATE watermill_orders SET payload = '{"destination_topic":"t","uuid":"u","payload":"e30=","metadata":{}}' WHERE uuid = 'u3'`, opts: adopt.Options{Constants: with(adopt.Type, "t"), NoKey: true, TimeZone: "UTC"}, want: []string{"1 rows are envelopes of the forwarder of watermill, which are not taken apart: 3/101"}},
		{name: "watermill with envelopes as bytes", sql: watermillTable + `ALTER TABLE watermill_orders ALTER payload TYPE bytea USING convert_to(payload::text, 'UTF8'); UPDATE watermill_orders SET payload = '{"destination_topic":"t"}' WHERE uuid = 'u3'`, opts: adopt.Options{Constants: map[adopt.Attribute]string{adopt.Source: "/s", adopt.Type: "t", adopt.DataContentType: "a/b"}, NoKey: true, TimeZone: "UTC"}, want: []string{"envelopes of the forwarder"}},
		{name: "copy in our place", sql: "DROP SCHEMA outbox CASCADE;" + strings.ReplaceAll(copyTable, "events", "outbox"), want: []string{"it stands where the canonical table goes"}},
		{name: "copy with held events", sql: copyTable + "UPDATE events.event_outbox SET tx = NULL WHERE event_id = 'e2'", want: []string{"1 rows are held: 2"}},
		{name: "copy with retries", sql: lanesTable + "CREATE TABLE events.outbox_retry (id int); INSERT INTO events.outbox_retry VALUES (1)", want: []string{"outbox_retry is not empty"}},
		{name: "copy with several groups", sql: lanesTable + "INSERT INTO events.outbox_lane VALUES ('second', 0, '1:1:')", want: []string{"several relay groups"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantReasons(t, c.sql, c.opts, c.want)
		})
	}
}

func TestLookFindsNoneOrMany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, sql, table, want string }{
		{"none", "CREATE TABLE orders (id int PRIMARY KEY, type text, payload text, status text)", "", "no table looks like an outbox"},
		{"two", flagTable + debeziumTable, "", "2 tables look like an outbox: public.outbox_events, public.outboxevent"},
		{"not there", flagTable, "outbox_event", "there is no table outbox_event"},
		{"ours", "SELECT 1", "", "no table looks like an outbox"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := adopt.Look(t.Context(), old(t, c.sql).Pool, adopt.Options{Table: c.table, Constants: source})
			var missing *adopt.NotFoundError
			if !errors.As(err, &missing) || missing.Error() != c.want || missing.Hint() == "" {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// wantReasons wants exactly these reasons, or with none that the table is adopted.
func wantReasons(t *testing.T, sql string, opts adopt.Options, want []string) {
	t.Helper()
	_, err := adopt.Look(t.Context(), old(t, sql).Pool, opts)
	var refused *adopt.RefusedError
	switch {
	case want == nil && err == nil:
		return
	case !errors.As(err, &refused):
		t.Fatalf("got %v, want %q", err, want)
	}
	for i, r := range refused.Reasons {
		if i >= len(want) || !strings.Contains(r.Message, want[i]) {
			t.Errorf("reason %d is %q (hint %q)", i, r.Message, r.Hint)
		}
	}
	if len(refused.Reasons) != len(want) {
		t.Errorf("%d reasons, want %d", len(refused.Reasons), len(want))
	}
}
