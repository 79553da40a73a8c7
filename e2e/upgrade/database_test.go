package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	sqlstateLockTimeout = "55P03" // lock_not_available
	migrationTries      = 100     // of one file, before the test gives up
)

// install runs the migrations of a release on an empty database.
func install(t *testing.T, db *outboxtest.Database, plan []file) {
	t.Helper()
	for _, f := range plan {
		if err := execute(t.Context(), db, f.sql); err != nil {
			t.Fatalf("install %s version %d: %v", f.component, f.version, err)
		}
	}
}

// seed runs a file of testdata/seed.
func seed(t *testing.T, db *outboxtest.Database, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "seed", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := execute(t.Context(), db, string(text)); err != nil {
		t.Fatalf("seed %s: %v", name, err)
	}
}

func execute(ctx context.Context, db *outboxtest.Database, sql string) error {
	_, err := db.Pool.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

// migrate runs a file as a careful operator does beside running services: it waits for locks
// for a short time only, because everybody else waits behind it, and tries again.
func migrate(t *testing.T, db *outboxtest.Database, f file) {
	t.Helper()
	for try := 1; ; try++ {
		began := time.Now()
		err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "SET LOCAL lock_timeout = '500ms'"); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), f.sql, pgx.QueryExecModeSimpleProtocol)
			return err
		})
		var pgErr *pgconn.PgError
		if errors.As(err, &pgErr) && pgErr.Code == sqlstateLockTimeout && try < migrationTries {
			continue
		}
		if err != nil {
			t.Fatalf("migrate %s to version %d: %v", f.component, f.version, err)
		}
		t.Logf("%s version %d took %s, at try %d", f.component, f.version, time.Since(began).Round(time.Millisecond), try)
		return
	}
}

// columnsSQL lists what was there before an upgrade, but for what relays write all the time and for what
// tells the version. Of the log, the seed counts.
const columnsSQL = `SELECT c.relname::text, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE c.relnamespace = 'outbox'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
   AND c.relname NOT IN ('outbox_lane', 'outbox_relay', 'outbox_batch', 'holdfast_schema')
 GROUP BY c.relname ORDER BY c.relname`

// digests reads what was there, by the columns that there were.
type digests struct {
	columns map[string]string // by table
	values  map[string]string
}

// newDigests takes note of the columns and of what is in them.
func newDigests(t *testing.T, db *outboxtest.Database) digests {
	t.Helper()
	d := digests{columns: map[string]string{}}
	rows, err := db.Pool.Query(t.Context(), columnsSQL)
	if err != nil {
		t.Fatal(err)
	}
	var table, columns string
	if _, err := pgx.ForEachRow(rows, []any{&table, &columns}, func() error {
		d.columns[table] = columns
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(d.columns) < 8 {
		t.Fatalf("only %d tables: %v", len(d.columns), d.columns)
	}
	d.values = d.read(t, db)
	return d
}

// read reads them again. What the load writes has other names than the seed.
func (d digests) read(t *testing.T, db *outboxtest.Database) map[string]string {
	t.Helper()
	values := map[string]string{}
	for table, columns := range d.columns {
		where := "true"
		switch {
		case strings.Contains(columns, "event_id"):
			where = "event_id LIKE 'seed-%'"
		case strings.Contains(columns, "operation_id"):
			where = "operation_id::text LIKE '00000000-%'"
		}
		var n int
		var digest string
		query := fmt.Sprintf("SELECT count(*), coalesce(md5(string_agg(r::text, ',' ORDER BY r::text)), '') FROM (SELECT %s FROM outbox.%s WHERE %s) AS r", columns, table, where)
		if err := db.Pool.QueryRow(t.Context(), query).Scan(&n, &digest); err != nil {
			t.Fatalf("read %s: %v", table, err)
		}
		values[table] = fmt.Sprint(n, " rows ", digest)
	}
	return values
}
