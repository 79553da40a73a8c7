package outbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestVerifyReadsTheCatalog: what the migrations recorded is not what is there. A difference that
// matters is refused by name; one that costs only speed is not.
func TestVerifyReadsTheCatalog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		change    string
		component canonical.Component
		object    string // empty when it does not matter
		property  string
		hint      string
	}{
		{"trigger", `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
			CREATE TRIGGER lose BEFORE INSERT ON outbox.event_outbox FOR EACH ROW EXECUTE FUNCTION lose()`,
			canonical.Outbox, "trigger event_outbox.lose", "existence", "DROP TRIGGER"},
		{"sequence cache", "ALTER SEQUENCE outbox.event_outbox_seq CACHE 20", canonical.Outbox, "sequence event_outbox_seq", "cache", "CACHE 1;"},
		{"index", "DROP INDEX outbox.event_outbox_lane_tx", canonical.Outbox, "index event_outbox.event_outbox_lane_tx", "existence", "CREATE INDEX"},
		{"row security", "ALTER TABLE outbox.outbox_lane ENABLE ROW LEVEL SECURITY", canonical.Relay, "table outbox_lane", "row security", "DISABLE"},
		{"function", "ALTER FUNCTION outbox.hold_cancel(text, integer, text, text, text) SECURITY INVOKER", canonical.Hold,
			"function hold_cancel(text, integer, text, text, text)", "security", "outbox-gen verify"},
		{"fillfactor", "ALTER TABLE outbox.outbox_lane SET (fillfactor = 100)", "", "", "", ""},
		{"one more column", "ALTER TABLE outbox.event_outbox ADD COLUMN note text", "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := outboxtest.NewDatabase(t)
			if _, err := db.Pool.Exec(t.Context(), c.change); err != nil {
				t.Fatal(err)
			}
			_, err := outbox.Verify(t.Context(), db.Pool, "outbox", allComponents...)
			if c.object == "" {
				if err != nil {
					t.Errorf("error is %v", err)
				}
				return
			}
			var found *outbox.SchemaError
			if !errors.Is(err, outbox.ErrSchemaMismatch) || !errors.As(err, &found) {
				t.Fatalf("error is %v", err)
			}
			if found.Component != c.component || found.Object != c.object || found.Property != c.property || !strings.Contains(outbox.Hint(err), c.hint) {
				t.Errorf("error is %v, hint %q", err, outbox.Hint(err))
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one difference: %v", err)
			}
			if _, err := db.Pool.Exec(t.Context(), found.Mend, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatalf("mend: %v\n%s", err, found.Mend)
			}
			if _, err := outbox.Verify(t.Context(), db.Pool, "outbox", allComponents...); err != nil {
				t.Errorf("after mending: %v", err)
			}
		})
	}
}

// TestVerifyInEveryMode: reading needs no session state and no prepared statement, and leaves the
// settings of a transaction as they were.
func TestVerifyInEveryMode(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := outboxtest.NewPool(t, db.URL, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				const settings = "SELECT current_setting('search_path') || ', ' || current_setting('timezone') || ', ' || current_setting('jit')"
				if _, err := tx.Exec(t.Context(), "SET LOCAL search_path = outbox; SET LOCAL timezone = 'Asia/Tokyo'", pgx.QueryExecModeSimpleProtocol); err != nil {
					return err
				}
				var before, after string
				if err := tx.QueryRow(t.Context(), settings).Scan(&before); err != nil {
					return err
				}
				if _, err := outbox.Verify(t.Context(), tx, "outbox", allComponents...); err != nil {
					t.Error(err)
				}
				if err := tx.QueryRow(t.Context(), settings).Scan(&after); err != nil || after != before {
					t.Errorf("settings are %q, were %q; %v", after, before, err)
				}
				_, err := tx.Exec(t.Context(), "UPDATE outbox.holdfast_schema SET version = version")
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if _, err := outbox.Verify(t.Context(), pool, "outbox", allComponents...); err != nil {
				t.Error(err)
			}
		})
	}
}

// BenchmarkVerify is what a relay and a service pay once, at their start.
func BenchmarkVerify(b *testing.B) {
	db := outboxtest.NewDatabase(b)
	for b.Loop() {
		if _, err := outbox.Verify(b.Context(), db.Pool, "outbox", allComponents...); err != nil {
			b.Fatal(err)
		}
	}
}
