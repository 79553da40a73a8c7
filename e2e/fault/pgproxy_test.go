package fault_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// base is a database with a table, reached through a proxy and past it.
type base struct {
	t     *testing.T
	db    *outboxtest.Database
	proxy *fault.PostgresProxy
}

func newBase(t *testing.T) *base {
	t.Helper()
	b := &base{t: t, db: outboxtest.NewEmptyDatabase(t)}
	if _, err := b.db.Pool.Exec(t.Context(), "create table things (n int primary key, body bytea)"); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.proxy, err = fault.NewPostgresProxy(b.db.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *base) url(values ...string) string {
	b.t.Helper()
	url, err := b.proxy.URL(b.db.URL, append([]string{"application_name", "client"}, values...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	return url
}

// connect connects through the proxy.
func (b *base) connect(values ...string) *pgx.Conn {
	b.t.Helper()
	conn, err := pgx.Connect(b.t.Context(), b.url(values...))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// things counts the rows there are.
func (b *base) things() (n int) {
	b.t.Helper()
	if err := b.db.Pool.QueryRow(b.t.Context(), "select count(*) from things").Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// insert writes a row in a transaction of its own.
func (b *base) insert(conn *pgx.Conn, n int) error {
	return pgx.BeginFunc(b.t.Context(), conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(b.t.Context(), "insert into things (n) values ($1)", n)
		return err
	})
}

func sqlstate(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// modes are the ways in which pgx speaks to a server.
var modes = []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}

func TestPostgresProxyPassesEverythingUnchanged(t *testing.T) {
	t.Parallel()
	b := newBase(t)
	for i, mode := range modes {
		conn := b.connect("default_query_exec_mode", mode)
		body := make([]byte, 200_000)
		_, _ = rand.Read(body)
		if _, err := conn.Exec(t.Context(), "insert into things values ($1, $2)", i, body); err != nil {
			t.Fatal(err)
		}
		var got []byte
		if err := conn.QueryRow(t.Context(), "select body from things where n = $1", i).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, body) {
			t.Errorf("%s: the body changed", mode)
		}
		if _, err := conn.Exec(t.Context(), "select 1/0"); sqlstate(err) != "22012" {
			t.Errorf("%s: %v", mode, err)
		}
	}
	conn := b.connect()
	var batch pgx.Batch
	for i := range 100 {
		batch.Queue("insert into things (n) values ($1)", 100+i)
	}
	if err := conn.SendBatch(t.Context(), &batch).Close(); err != nil {
		t.Fatal(err)
	}
	rows := make([][]any, 1000)
	for i := range rows {
		rows[i] = []any{1000 + i}
	}
	if _, err := conn.CopyFrom(t.Context(), pgx.Identifier{"things"}, []string{"n"}, pgx.CopyFromRows(rows)); err != nil {
		t.Fatal(err)
	}
	if got := b.things(); got != len(modes)+1100 {
		t.Errorf("%d rows", got)
	}
	var name string
	if err := conn.QueryRow(t.Context(), "select current_setting('application_name')").Scan(&name); err != nil || name != "client" {
		t.Errorf("application name %q, %v", name, err)
	}
}

func TestPostgresProxyPassesCancelRequests(t *testing.T) {
	t.Parallel()
	b := newBase(t)
	conn := b.connect()
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "select pg_sleep(60)")
		ended <- err
	}()
	eventually(t, "the statement runs", func() bool {
		var n int
		err := b.db.Pool.QueryRow(t.Context(), "select count(*) from pg_stat_activity where application_name = 'client' and state = 'active'").Scan(&n)
		return err == nil && n == 1
	})
	if err := conn.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; sqlstate(err) != "57014" {
		t.Errorf("got %v", err)
	}
}

func TestPostgresProxyCutsAfterCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBase(t)
			conn := b.connect("default_query_exec_mode", mode)
			if err := b.insert(conn, 1); err != nil {
				t.Fatal(err)
			}
			rule := b.proxy.Add(fault.PostgresRule{Match: fault.Commits, Do: fault.CutAfter()})
			if err := b.insert(conn, 2); err == nil || sqlstate(err) != "" {
				t.Errorf("the answer of the commit: %v", err)
			}
			hits(t, rule, 1)
			if got := b.things(); got != 2 {
				t.Errorf("%d rows, want 2: the server had committed before the cut", got)
			}
		})
	}
}

func TestPostgresProxyCutsBeforeCommit(t *testing.T) {
	t.Parallel()
	b := newBase(t)
	rule := b.proxy.Add(fault.PostgresRule{Match: fault.Commits, Do: fault.CutBefore()})
	if err := b.insert(b.connect(), 1); err == nil || sqlstate(err) != "" {
		t.Errorf("the answer of the commit: %v", err)
	}
	hits(t, rule, 1)
	if got := b.things(); got != 0 {
		t.Errorf("%d rows, want none", got)
	}
}

// A settle of the relay is a batch: settings first, then the statement, in one implicit
// transaction.
func TestPostgresProxyCutsAfterABatch(t *testing.T) {
	t.Parallel()
	for _, mode := range modes[:4] {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBase(t)
			conn := b.connect("default_query_exec_mode", mode)
			rule := b.proxy.Add(fault.PostgresRule{Match: fault.Executes("insert into things"), After: 1, Do: fault.CutAfter()})
			for i := range 2 {
				var batch pgx.Batch
				batch.Queue("select set_config('synchronous_commit', 'off', true)")
				batch.Queue("insert into things (n) values ($1)", i)
				if err := conn.SendBatch(t.Context(), &batch).Close(); (err != nil) != (i == 1) {
					t.Errorf("batch %d: %v", i, err)
				}
			}
			hits(t, rule, 1)
			if got := b.things(); got != 2 {
				t.Errorf("%d rows, want 2", got)
			}
		})
	}
}

func TestPostgresProxyStalls(t *testing.T) {
	t.Parallel()
	b := newBase(t)
	conn := b.connect()
	const stall = 300 * time.Millisecond
	rule := b.proxy.Add(fault.PostgresRule{Match: fault.Executes("insert"), Times: 1, Do: fault.StallFor(stall)})
	begin := time.Now()
	if err := b.insert(conn, 1); err != nil || time.Since(begin) < stall {
		t.Errorf("after %s: %v", time.Since(begin), err)
	}
	if err := b.insert(conn, 2); err != nil {
		t.Errorf("the next one: %v", err)
	}
	hits(t, rule, 1)
}

func TestPostgresProxyFailsStatements(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBase(t)
			conn := b.connect("default_query_exec_mode", mode)
			begin := b.proxy.Add(fault.PostgresRule{Match: fault.Begins, Times: 1, Do: fault.Fail("53000")})
			if err := b.insert(conn, 1); sqlstate(err) != "53000" {
				t.Errorf("begin: %v", err)
			}
			hits(t, begin, 1)
			nth := b.proxy.Add(fault.PostgresRule{Match: fault.Executes("insert into things"), After: 1, Times: 1, Do: fault.Fail("25006")})
			if err := b.insert(conn, 2); err != nil {
				t.Errorf("the first insert: %v", err)
			}
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), "insert into things (n) values (3)"); sqlstate(err) != "25006" {
				t.Errorf("the second insert: %v", err)
			}
			hits(t, nth, 1)
			if _, err := tx.Exec(t.Context(), "insert into things (n) values (4)"); sqlstate(err) != "25P02" {
				t.Errorf("the server does not know that the transaction has failed: %v", err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
			if err := b.insert(conn, 5); err != nil {
				t.Errorf("the connection is not usable afterwards: %v", err)
			}
			if got := b.things(); got != 2 {
				t.Errorf("%d rows, want 2", got)
			}
		})
	}
}

func TestPostgresProxyFailsFatally(t *testing.T) {
	t.Parallel()
	b := newBase(t)
	conn := b.connect()
	b.proxy.Add(fault.PostgresRule{Match: fault.AnyStatement, After: 1, Times: 1, Do: fault.FailFatally("57P01")})
	if err := b.insert(conn, 1); sqlstate(err) != "57P01" {
		t.Errorf("got %v", err)
	}
	if !conn.IsClosed() {
		t.Error("the connection is open")
	}
	b.proxy.Add(fault.PostgresRule{Match: fault.Connects, Times: 1, Do: fault.Fail("53300")})
	if _, err := pgx.Connect(t.Context(), b.url()); sqlstate(err) != "53300" {
		t.Errorf("connect: %v", err)
	}
	b.connect()
}

func TestPostgresProxyLink(t *testing.T) {
	t.Parallel()
	b := newBase(t)
	conn := b.connect()
	if n := b.proxy.CutAll(); n != 1 {
		t.Errorf("cut %d connections, want 1", n)
	}
	if err := b.insert(conn, 1); err == nil {
		t.Error("a connection that was cut")
	}
	refuse := b.proxy.AddLink(fault.LinkRule{Fault: fault.Refuse})
	if _, err := pgx.Connect(t.Context(), b.url()); err == nil {
		t.Error("a connection that is refused")
	}
	refuse.Remove()
	conn = b.connect()
	hole := b.proxy.AddLink(fault.LinkRule{Fault: fault.BlackHole})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(ctx, "select 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("in a black hole: %v", err)
	}
	if _, err := pgx.Connect(t.Context(), b.url("connect_timeout", "1")); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("a new connection into a black hole: %v", err)
	}
	hole.Remove()
	if err := b.insert(b.connect(), 1); err != nil {
		t.Error(err)
	}
}
