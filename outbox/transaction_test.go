package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

type pgxConn = pgxpool.Conn

// The shapes of what other libraries call a transaction. They stand here as copies,
// because a test needs no more of those modules than this.
type (
	// sqlx.Tx and bun.Tx embed *sql.Tx.
	embedded struct{ *sql.Tx }
	// gorm.ConnPool is what tx.Statement.ConnPool is declared as.
	gormConnPool interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
		ExecContext(ctx context.Context, query string, args ...interface{}) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...interface{}) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...interface{}) *sql.Row
	}
	// ent.Tx has these with the feature sql/execquery.
	entTx interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		Commit() error
		Rollback() error
	}
)

var (
	_ outbox.SQLTx = (*sql.Tx)(nil)
	_ outbox.SQLTx = embedded{}
	_ outbox.SQLTx = (*embedded)(nil)
	_ outbox.SQLTx = gormConnPool(nil)
	_ outbox.SQLTx = entTx(nil)
	_ outbox.PgxTx = pgx.Tx(nil)
	_ outbox.PgxTx = (*pgxpool.Tx)(nil)

	_ outbox.Querier = (*pgxpool.Pool)(nil)
	_ outbox.Querier = pgx.Tx(nil)
)

// bunTx is bun.Tx in full: it begins transactions of its own, as savepoints.
type bunTx struct{ *sql.Tx }

func (bunTx) BeginTx(context.Context, *sql.TxOptions) (bunTx, error) { return bunTx{}, nil }

// recorder is a transaction without a database.
type recorder struct {
	calls int
	sql   string
	args  []any
	err   error
}

func (r *recorder) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	r.calls, r.sql, r.args = r.calls+1, sql, args
	return pgconn.NewCommandTag("SELECT 1"), r.err
}

func (r *recorder) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	r.calls, r.sql, r.args = r.calls+1, query, args
	return nil, r.err
}

func TestNotATransaction(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	handle := stdlib.OpenDBFromPool(db.Pool)
	defer closeHandle(t, handle)
	sqlConn, err := handle.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sqlConn.Close() }()
	pooled, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pooled.Release()

	hold := outbox.Hold{}
	for name, tx := range map[string]outbox.PgxTx{
		"pool": db.Pool, "connection": pooled.Conn(), "pooled connection": pooled,
		"nil": nil, "nil connection": (*pgx.Conn)(nil), "nil transaction": (*pgxpool.Tx)(nil),
	} {
		_, err := outbox.PublishTx(t.Context(), tx, newEvent("x"))
		wantNotTransaction(t, name, err)
		_, err = outbox.PublishTxHeld(t.Context(), tx, hold, newEvent("x"))
		wantNotTransaction(t, name, err)
	}
	for name, tx := range map[string]outbox.SQLTx{
		"handle": handle, "connection": sqlConn, "nil": nil, "nil transaction": (*sql.Tx)(nil),
		"sqlx.DB and bun.DB": struct{ *sql.DB }{handle},
	} {
		_, err := outbox.PublishSQLTx(t.Context(), tx, newEvent("x"))
		wantNotTransaction(t, name, err)
		_, err = outbox.PublishSQLTxHeld(t.Context(), tx, hold)
		wantNotTransaction(t, name, err)
	}
	wantIDs(t, db.Pool)
}

func wantNotTransaction(t *testing.T, name string, err error) {
	t.Helper()
	if !errors.Is(err, outbox.ErrNotTransaction) || !strings.Contains(outbox.Hint(err), "Begin a transaction") {
		t.Errorf("%s: error is %v, hint %q", name, err, outbox.Hint(err))
	}
}

func TestTransactionsOfOtherLibraries(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	handle := stdlib.OpenDBFromPool(db.Pool)
	defer closeHandle(t, handle)
	inSQLTx(t, handle, func(tx *sql.Tx) error {
		for i, other := range []outbox.SQLTx{embedded{tx}, &embedded{tx}, gormConnPool(tx), bunTx{tx}} {
			if _, err := outbox.PublishSQLTx(t.Context(), other, newEvent(string(rune('a'+i)))); err != nil {
				t.Errorf("%T: %v", other, err)
			}
		}
		return nil
	})
	wantIDs(t, db.Pool, "a", "b", "c", "d")
}

// TestConnectionInATransaction: one that was begun by hand is a transaction.
func TestConnectionInATransaction(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	pooled, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pooled.Release()
	exec := func(statement string) {
		t.Helper()
		if _, err := pooled.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("BEGIN")
	for _, tx := range []outbox.PgxTx{pooled, pooled.Conn()} {
		if _, err := outbox.PublishTx(t.Context(), tx, newEvent("x")); err != nil {
			t.Error(err)
		}
	}
	exec("ROLLBACK")
	wantIDs(t, db.Pool)
}

// preparing starts a cluster that knows two-phase commit.
func preparing(t *testing.T) *harness.Postgres {
	t.Helper()
	return outboxtest.NewCluster(t, harness.PostgresOptions{Settings: map[string]string{"max_prepared_transactions": "2"}})
}
