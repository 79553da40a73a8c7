package adopt_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/gen/adopt"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// old returns a database with the canonical schema, in which SQL was run.
func old(t *testing.T, sql string) *outboxtest.Database {
	t.Helper()
	db := outboxtest.NewDatabase(t)
	execute(t, db, sql)
	return db
}

// execute runs many statements, as a migration tool does.
func execute(t *testing.T, db *outboxtest.Database, sql string) {
	t.Helper()
	if err := tryExecute(t.Context(), db, sql); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
}

func tryExecute(ctx context.Context, db *outboxtest.Database, sql string) error {
	_, err := db.Pool.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

// look looks, and fails the test for a refusal.
func look(t *testing.T, db *outboxtest.Database, opts adopt.Options) *adopt.Adoption {
	t.Helper()
	a, err := adopt.Look(t.Context(), db.Pool, opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// moveSQL returns the migration.
func moveSQL(t *testing.T, a *adopt.Adoption) string {
	t.Helper()
	m, err := a.Migration("orders")
	if err != nil {
		t.Fatal(err)
	}
	return m.SQL
}

// move looks and runs the migration.
func move(t *testing.T, db *outboxtest.Database, opts adopt.Options) *adopt.Adoption {
	t.Helper()
	a := look(t, db, opts)
	execute(t, db, moveSQL(t, a))
	return a
}

// event is a row of event_outbox as a text.
const eventSQL = `SELECT concat_ws(' | ', event_id, source, type, subject, to_char("time" AT TIME ZONE 'UTC', 'HH24:MI'), partition_key,
	datacontenttype, nullif(extensions::text, '{}'), convert_from(data, 'UTF8')) FROM outbox.event_outbox ORDER BY seq`

// lines runs a query for a list of texts.
func lines(t *testing.T, db *outboxtest.Database, sql string) []string {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.AppendRows([]string(nil), rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wantError wants an error of the server with a text.
func wantError(t *testing.T, err error, text string) {
	t.Helper()
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || !strings.Contains(pgErr.Message, text) {
		t.Errorf("got %v, want an error with %q", err, text)
	}
}

var source = map[adopt.Attribute]string{adopt.Source: "/orders"}

// with returns the constants and one more.
func with(a adopt.Attribute, text string) map[adopt.Attribute]string {
	return map[adopt.Attribute]string{adopt.Source: "/orders", a: text}
}
