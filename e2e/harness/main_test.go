package harness_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(runChild())
	}
	goleak.VerifyTestMain(m)
}

// startPostgres starts a cluster that is closed at the end of the test.
func startPostgres(t *testing.T, opts harness.PostgresOptions) *harness.Postgres {
	t.Helper()
	pg, err := harness.StartPostgres(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Close(); err != nil {
			t.Error(err)
		}
	})
	return pg
}

func connect(t *testing.T, pg *harness.Postgres, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pg.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// runSQL runs statements on a connection of their own.
func runSQL(t *testing.T, pg *harness.Postgres, database string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pg.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// query returns the one value of a query, on a connection of its own.
func query(t *testing.T, pg *harness.Postgres, database, statement string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pg.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var value string
	if err := conn.QueryRow(t.Context(), statement).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

// openTempDir is a t.TempDir that other users can enter, which needs its parent
// opened too.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// eventually polls a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func sqlstate(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

func postmasterPID(t *testing.T, pg *harness.Postgres) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(pg.Dir(), "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _, _ := strings.Cut(string(content), "\n")
	return pid
}
