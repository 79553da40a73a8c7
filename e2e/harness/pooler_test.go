//go:build pooler

package harness_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

func startPooler(t *testing.T, server string, settings map[string]string) (*harness.Pooler, string) {
	t.Helper()
	p, err := harness.StartPooler(t.Context(), server, harness.PoolerOptions{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	through, err := p.URL(server)
	if err != nil {
		t.Fatal(err)
	}
	return p, through
}

// TestPoolerSharesItsSessions: a connection through it is another one than the session that
// answers, which two connections get one after the other. Each role is itself.
func TestPoolerSharesItsSessions(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	runSQL(t, pg, "postgres", "create role somebody login")
	server := strings.Replace(pg.URL("postgres"), "postgres@", "somebody@", 1)
	_, through := startPooler(t, server, map[string]string{"default_pool_size": "1"})
	var sessions [2]int
	for i := range sessions {
		conn, err := pgx.Connect(t.Context(), through)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background()) //nolint:errcheck // ends with the pooler
		var role string
		if err := conn.QueryRow(t.Context(), "select pg_backend_pid(), current_user").Scan(&sessions[i], &role); err != nil {
			t.Fatal(err)
		}
		if role != "somebody" || sessions[i] == int(conn.PgConn().PID()) {
			t.Errorf("connection %d is of %s, with the process id of its session", i, role)
		}
	}
	if sessions[0] != sessions[1] {
		t.Errorf("two connections have the sessions %v, want one", sessions)
	}
}

func TestPoolerSaysWhetherItKeepsStatements(t *testing.T) {
	t.Parallel()
	const server = "postgres://postgres@127.0.0.1:1/none?sslmode=disable"
	for mode, keeps := range map[string]bool{"session": true, "transaction": false} {
		p, through := startPooler(t, server, map[string]string{"pool_mode": mode, "max_prepared_statements": "0"})
		if p.KeepsStatements() != keeps || strings.Contains(through, "default_query_exec_mode=exec") == keeps {
			t.Errorf("%s: keeps statements: %v, with the URL %s", mode, p.KeepsStatements(), through)
		}
	}
}

func TestPoolerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	_, err := harness.StartPooler(t.Context(), "postgres://127.0.0.1:1", harness.PoolerOptions{Settings: map[string]string{"pool_mode": "nonsense"}})
	if err == nil || !strings.Contains(err.Error(), "pool_mode") {
		t.Errorf("start: %v, want the reason", err)
	}
}

// TestPoolerComesBack: one that was killed is there again, at the same place.
func TestPoolerComesBack(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	p, through := startPooler(t, pg.URL("postgres"), nil)
	console, err := pgx.Connect(t.Context(), strings.Replace(through, "/postgres?", "/pgbouncer?default_query_exec_mode=simple_protocol&", 1))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = console.Exec(t.Context(), "SHUTDOWN") // it answers with its end
	_ = console.Close(context.Background())
	deadline := time.Now().Add(time.Minute)
	for strings.Count(p.Log(), "process up:") < 2 {
		if time.Now().After(deadline) {
			t.Fatalf("it is not there again:\n%s", p.Log())
		}
		time.Sleep(5 * time.Millisecond)
	}
	conn, err := pgx.Connect(t.Context(), through)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(conn.Ping(t.Context()), conn.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestPoolerEnds(t *testing.T) {
	t.Parallel()
	p, through := startPooler(t, "postgres://postgres@127.0.0.1:1/none?sslmode=disable", nil)
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if conn, err := pgx.Connect(t.Context(), through); err == nil {
		t.Errorf("a closed pooler lets %v in", conn.PgConn().PID())
	}
}
