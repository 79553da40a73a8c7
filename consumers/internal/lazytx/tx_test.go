package lazytx_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/consumers/internal/lazytx"
	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) { outboxtest.Main(m) }

var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

// bench is a connection through a proxy that notes the trips.
type bench struct {
	*outboxtest.Database
	t     *testing.T
	proxy *fault.PostgresProxy
	conn  *pgx.Conn

	mu    sync.Mutex
	trips []string // what is executed in each
}

func newBench(t *testing.T, mode pgx.QueryExecMode) *bench {
	t.Helper()
	b := &bench{Database: outboxtest.NewDatabase(t), t: t}
	if _, err := b.Pool.Exec(t.Context(), "CREATE TABLE public.entry (n int PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.proxy, err = fault.NewPostgresProxy(b.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.proxy.Close() })
	address, err := b.proxy.URL(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = mode
	if b.conn, err = pgx.ConnectConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.conn.Close(context.Background()) })
	b.proxy.Add(fault.PostgresRule{Match: b.note})
	return b
}

// note matches nothing.
func (b *bench) note(m *fault.PostgresMessage) bool {
	if m.Point == fault.OnStatement && len(m.SQL) > 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.trips = append(b.trips, strings.Join(m.SQL, "; "))
	}
	return false
}

// took returns the trips since the last call.
func (b *bench) took() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	trips := b.trips
	b.trips = nil
	return trips
}

func (b *bench) begin() *lazytx.Tx {
	return lazytx.New(b.t.Context(), b.conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
}

func (b *bench) entries() (n int) {
	b.t.Helper()
	if err := b.Pool.QueryRow(b.t.Context(), "SELECT count(*) FROM public.entry").Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

const insert = "INSERT INTO public.entry (n) VALUES ($1) RETURNING n"

func TestFirstStatementTakesTheBeginAlong(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, mode)
			for n, end := range map[int]func(pgx.Tx, context.Context) error{1: pgx.Tx.Commit, 2: pgx.Tx.Rollback} {
				tx := b.begin()
				var got int
				if err := lazytx.First(t.Context(), tx, insert, strconv.Itoa(n)).Scan(&got); err != nil || got != n || tx.Waits() || tx.BeginError() != nil {
					t.Fatalf("got %d, %v; waits %t, begin error %v", got, err, tx.Waits(), tx.BeginError())
				}
				if trips := b.took(); len(trips) != 1 || !strings.HasPrefix(trips[0], "begin isolation level read committed") || !strings.Contains(trips[0], "INSERT") {
					t.Errorf("trips %q", trips)
				}
				if err := lazytx.First(t.Context(), tx, "SELECT n FROM public.entry WHERE n = -1").Scan(&got); !errors.Is(err, pgx.ErrNoRows) {
					t.Errorf("no row: %v", err)
				}
				if err := end(tx, t.Context()); err != nil {
					t.Fatal(err)
				}
				if trips := b.took(); len(trips) != 2 {
					t.Errorf("trips %q", trips)
				}
				if err := lazytx.First(t.Context(), tx, insert, "3").Scan(&got); !errors.Is(err, pgx.ErrTxClosed) {
					t.Errorf("after the end: %v", err)
				}
			}
			if n := b.entries(); n != 1 {
				t.Errorf("%d entries, want the one that was committed", n)
			}
		})
	}
}

// TestFirstStatementWithoutARow: that it has no row is its answer, and the transaction goes on.
func TestFirstStatementWithoutARow(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, mode)
			tx := b.begin()
			var n int
			if err := lazytx.First(t.Context(), tx, "SELECT n FROM public.entry").Scan(&n); !errors.Is(err, pgx.ErrNoRows) {
				t.Fatalf("no row: %v", err)
			}
			if _, err := tx.Exec(t.Context(), "INSERT INTO public.entry VALUES (1)"); err != nil {
				t.Fatal(err)
			}
			if n := b.entries(); n != 0 {
				t.Error("it runs outside of a transaction")
			}
			if err := tx.Commit(t.Context()); err != nil || b.entries() != 1 {
				t.Errorf("commit: %v", err)
			}
		})
	}
}

// TestEveryCallBegins: nothing reaches the database outside of the transaction.
func TestEveryCallBegins(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgx.QueryExecModeCacheStatement)
	for name, call := range map[string]func(context.Context, pgx.Tx) error{
		"Exec": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT 1")
			return err
		},
		"Query": func(ctx context.Context, tx pgx.Tx) error {
			rows, err := tx.Query(ctx, "SELECT 1")
			rows.Close()
			return err
		},
		"QueryRow": func(ctx context.Context, tx pgx.Tx) error {
			var n int
			return tx.QueryRow(ctx, "SELECT $1::int", pgx.QueryExecModeSimpleProtocol, 1).Scan(&n)
		},
		"SendBatch": func(ctx context.Context, tx pgx.Tx) error {
			batch := &pgx.Batch{}
			batch.Queue("SELECT 1")
			return tx.SendBatch(ctx, batch).Close()
		},
		"CopyFrom": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"public", "entry"}, []string{"n"}, pgx.CopyFromRows([][]any{{7}}))
			return err
		},
		"Prepare": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Prepare(ctx, "one", "SELECT 1")
			return err
		},
		"Begin": func(ctx context.Context, tx pgx.Tx) error {
			inner, err := tx.Begin(ctx)
			return errors.Join(err, inner.Commit(ctx))
		},
		"Conn": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Conn().Exec(ctx, "SELECT 1")
			return err
		},
		"LargeObjects": func(ctx context.Context, tx pgx.Tx) error {
			objects := tx.LargeObjects()
			_, err := objects.Create(ctx, 0)
			return err
		},
	} {
		tx := b.begin()
		if err := call(t.Context(), tx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if status := b.conn.PgConn().TxStatus(); status != 'T' {
			t.Errorf("%s: the transaction is in state %c", name, status)
		}
		if trips := b.took(); len(trips) == 0 || !strings.HasPrefix(trips[0], "begin isolation level read committed") {
			t.Errorf("%s: trips %q", name, trips)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b.took()
	}
	if n := b.entries(); n != 0 {
		t.Errorf("%d entries", n)
	}
}

func TestNothingIsSentForNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgx.QueryExecModeCacheStatement)
	for name, end := range map[string]func(pgx.Tx, context.Context) error{"commit": pgx.Tx.Commit, "rollback": pgx.Tx.Rollback} {
		tx := b.begin()
		if err := end(tx, t.Context()); err != nil || len(b.took()) != 0 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := tx.Exec(t.Context(), "SELECT 1"); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("after %s: %v", name, err)
		}
		if err := end(tx, t.Context()); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s twice: %v", name, err)
		}
	}
}

// TestBeginThatFails: no later statement reaches the database, and the reason is known.
func TestBeginThatFails(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]fault.PostgresAction{
		"lost": fault.CutBefore(), "without an answer": fault.CutAfter(), "refused": fault.Fail("53300"), "refused for good": fault.FailFatally("57P01"),
	} {
		for _, mode := range modes {
			t.Run(name+" "+mode.String(), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, mode)
				b.proxy.Add(fault.PostgresRule{Match: fault.Begins, Do: do})
				tx := b.begin()
				var n int
				err := lazytx.First(t.Context(), tx, insert, "1").Scan(&n)
				if err == nil || tx.BeginError() == nil || !errors.Is(err, tx.BeginError()) || !b.conn.IsClosed() {
					t.Fatalf("error %v, of the begin %v, connection closed %t", err, tx.BeginError(), b.conn.IsClosed())
				}
				if _, err := tx.Exec(t.Context(), "INSERT INTO public.entry VALUES (2)"); !errors.Is(err, pgx.ErrTxClosed) {
					t.Errorf("later: %v", err)
				}
				if _, err := tx.Conn().Exec(t.Context(), "INSERT INTO public.entry VALUES (3)"); err == nil {
					t.Error("the connection takes statements outside of the transaction")
				}
				objects := tx.LargeObjects()
				if _, err := objects.Create(t.Context(), 0); !errors.Is(err, pgx.ErrTxClosed) {
					t.Errorf("large objects: %v", err)
				}
				if n := b.entries(); n != 0 {
					t.Errorf("%d entries", n)
				}
			})
		}
	}
}

// TestFirstStatementThatIsRefused fails as it does in any transaction, and so does the transaction.
func TestFirstStatementThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		for sql, state := range map[string]string{"SELECT n FROM public.nothing WHERE n = $1": "42P01", insert: "22P02"} {
			t.Run(mode.String()+" "+state, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, mode)
				tx := b.begin()
				var n int
				err := lazytx.First(t.Context(), tx, sql, "no number").Scan(&n)
				var refused *pgconn.PgError
				if !errors.As(err, &refused) || refused.Code != state || tx.BeginError() != nil {
					t.Fatalf("error %v, of the begin %v", err, tx.BeginError())
				}
				if status := b.conn.PgConn().TxStatus(); status != 'E' {
					t.Errorf("the transaction is in state %c", status)
				}
				if err := tx.Rollback(t.Context()); err != nil || b.conn.IsClosed() {
					t.Errorf("rollback: %v, connection closed %t", err, b.conn.IsClosed())
				}
			})
		}
	}
}

// TestRowThatIsNotRead: the connection stays busy, as with any transaction, and the end closes it.
func TestRowThatIsNotRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgx.QueryExecModeCacheStatement)
	tx := b.begin()
	lazytx.First(t.Context(), tx, insert, "1")
	if !b.conn.PgConn().IsBusy() {
		t.Error("the connection is not busy")
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO public.entry VALUES (2)"); err == nil {
		t.Error("another statement was sent")
	}
	if err := tx.Rollback(t.Context()); err == nil || !b.conn.IsClosed() {
		t.Errorf("rollback: %v, connection closed %t", err, b.conn.IsClosed())
	}
	if slices.ContainsFunc(b.took(), func(trip string) bool { return strings.Contains(trip, "(2)") }) || b.entries() != 0 {
		t.Error("something was written")
	}
}
