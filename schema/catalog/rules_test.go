package catalog_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// rule says what a column takes: values at its limits and none, and values just beyond.
type rule struct {
	table, column  string
	takes, refuses []string // SQL
	constraint     string
}

// rows are inserted with one column exchanged.
var rows = map[string]map[string]string{
	"event_outbox": {"event_id": "'e'", "source": "'/s'", "type": "'t'"},
	"consumer_fact": {
		"source": "'s'", "account_id": "'a'", "fact_type": "'t'", "fact_key": "'k'", "event_source": "'/s'", "event_id": "'e'", "attributes": "'{}'",
	},
	"consumer_inbox": {"consumer": "'c'", "event_source": "'/s'", "event_id": "'e'"},
}

// long is a text of n bytes, which is fewer characters.
func long(n int) string { return fmt.Sprintf("repeat('é', %d) || repeat('a', %d)", n/2, n%2) }

// upTo is the rule for a text of 1 to most bytes.
func upTo(table, column string, most int, constraint string) rule {
	return rule{table, column, []string{"'x'", long(most)}, []string{"''", long(most + 1)}, constraint}
}

// required is what a rule is for a column that takes no NULL; of the others each takes it.
var required = []string{"event_outbox.event_id", "event_outbox.source", "event_outbox.type", "event_outbox.extensions"}

var rules = []rule{
	upTo("event_outbox", "event_id", 255, "event_outbox_event_id"),
	{"event_outbox", "event_id", []string{"'a b'"}, []string{`E'\t'`, `E'a\u0085'`}, "event_outbox_event_id"},
	upTo("event_outbox", "source", 1024, "event_outbox_source"),
	{"event_outbox", "source", []string{"'/é'"}, []string{"'a b'", `E'\n'`}, "event_outbox_source"},
	{"event_outbox", "type", []string{"'order.placed'", "repeat('a', 255)"}, []string{"''", "'a..b'", "'*.a'", "'$a'", "'é'", "repeat('a', 256)"}, "event_outbox_type"},
	upTo("event_outbox", "subject", 1024, "event_outbox_subject"),
	{"event_outbox", "subject", []string{"'a b'"}, []string{`E'\u007f'`}, "event_outbox_subject"},
	{"event_outbox", "datacontenttype", []string{"'a/b; c=d'", "'a/' || repeat('b', 253)"}, []string{"''", "'json'", "'a/' || repeat('b', 254)"}, "event_outbox_datacontenttype"},
	{"event_outbox", "dataschema", []string{"'a:b'", "'a:' || " + long(1022)}, []string{"''", "'/a'", "'a:b c'", "'a:' || " + long(1023)}, "event_outbox_dataschema"},
	upTo("event_outbox", "partition_key", 255, "event_outbox_partition_key"),
	{"event_outbox", "partition_key", []string{"'a b'"}, []string{`E'\r'`}, "event_outbox_partition_key"},
	{"event_outbox", "time", []string{"'0001-01-01Z'", "'9999-12-31 23:59:59.999999Z'"}, []string{"'0001-12-31Z BC'", "'10000-01-01Z'", "'infinity'"}, "event_outbox_time"},
	{"event_outbox", "extensions",
		[]string{"'{}'", `'{"a":"b","n":-2147483648,"t":true}'`, `jsonb_build_object('a', repeat('x', 8183))`},
		[]string{"'[]'", "'null'", `'{"A":"b"}'`, `'{"id":"b"}'`, `'{"a":null}'`, `'{"a":[]}'`, `'{"a":1.5}'`, `'{"a":2147483648}'`, `'{"a":"\u0001"}'`, `jsonb_build_object('a', repeat('x', 8184))`},
		"event_outbox_extensions"},
	{"event_outbox", "data", []string{"''", "convert_to(repeat('x', 1000000), 'UTF8')"}, []string{"convert_to(repeat('x', 1000001), 'UTF8')"}, "event_outbox_data"},

	upTo("consumer_fact", "source", 512, "consumer_fact_source_check"),
	upTo("consumer_fact", "account_id", 255, "consumer_fact_account_id_check"),
	upTo("consumer_fact", "fact_type", 255, "consumer_fact_fact_type_check"),
	upTo("consumer_fact", "fact_key", 512, "consumer_fact_fact_key_check"),
	upTo("consumer_fact", "event_source", 1024, "consumer_fact_event_source_check"),
	upTo("consumer_fact", "event_id", 255, "consumer_fact_event_id_check"),
	{"consumer_fact", "attributes", []string{`'{"a":[1]}'`}, []string{"'[]'", "'1'", "'null'"}, "consumer_fact_attributes_check"},
	upTo("consumer_inbox", "consumer", 64, "consumer_inbox_consumer_check"),
	upTo("consumer_inbox", "event_source", 1024, "consumer_inbox_event_source_check"),
	upTo("consumer_inbox", "event_id", 255, "consumer_inbox_event_id_check"),
	{"consumer_inbox", "deliveries", []string{"1", "2147483647"}, []string{"0", "-1"}, "consumer_inbox_deliveries_check"},
}

// TestRules: each column of the tables that every event goes through takes what is within its limits
// and NULL where it may be absent; what is beyond them is refused under the name of a constraint.
func TestRules(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		pool := s.Pool(t)
		install(t, pool, canonical.DefaultParams(), canonical.Outbox, canonical.Consumer)
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(t.Context()) // which is what it is for
		for _, r := range rules {
			for _, value := range r.takes {
				if code, name := insertOne(t, tx, r, value); code != "" {
					t.Errorf("%s.%s does not take %s: %s %s", r.table, r.column, value, code, name)
				}
			}
			for _, value := range r.refuses {
				if code, name := insertOne(t, tx, r, value); code != "23514" || name != r.constraint {
					t.Errorf("%s.%s with %s: %q %q, want 23514 %s", r.table, r.column, value, code, name, r.constraint)
				}
			}
			want := ""
			if r.table != "event_outbox" || slices.Contains(required, r.table+"."+r.column) {
				want = "23502"
			}
			if code, _ := insertOne(t, tx, r, "NULL"); code != want {
				t.Errorf("%s.%s with NULL: %q, want %q", r.table, r.column, code, want)
			}
		}
	})
}

// insertOne inserts a row with one column exchanged, takes it back, and returns the SQLSTATE and the
// constraint of the error.
func insertOne(t *testing.T, tx pgx.Tx, r rule, value string) (code, constraint string) {
	t.Helper()
	row := maps.Clone(rows[r.table])
	row[r.column] = value
	columns := slices.Sorted(maps.Keys(row))
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = row[column]
	}
	if err := execute(t.Context(), tx, "SAVEPOINT one"); err != nil {
		t.Fatal(err)
	}
	err := execute(t.Context(), tx, fmt.Sprintf("INSERT INTO outbox.%s (%s) VALUES (%s)", r.table, strings.Join(columns, ", "), strings.Join(values, ", ")))
	if undo := execute(t.Context(), tx, "ROLLBACK TO SAVEPOINT one"); undo != nil {
		t.Fatal(undo)
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code, pgErr.ConstraintName
	}
	if err != nil {
		t.Fatal(err)
	}
	return "", ""
}
