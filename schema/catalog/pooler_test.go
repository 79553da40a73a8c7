//go:build pooler

package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// TestThroughPooler: behind pgbouncer in transaction mode, where every transaction may get
// another session, many readers find nothing and leave nothing behind. It has a build tag,
// because pgbouncer must be installed: test-pooler.sh sees to it.
func TestThroughPooler(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		name, direct := s.Database(t, "")
		install(t, catalog.Connect(t, direct), canonical.DefaultParams(), every...)
		config, err := pgxpool.ParseConfig(startPooler(t, direct))
		if err != nil {
			t.Fatal(err)
		}
		config.ConnConfig.Database = name
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // what pgbouncer needs before its version 1.21
		config.MaxConns = 20
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		snapshot := snapshotOf(t, pool)
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				for range 5 {
					live, err := catalog.Read(t.Context(), pool, "outbox")
					if err != nil {
						t.Error(err)
						return
					}
					wantClean(t, catalog.Compare(snapshot, live))
				}
			})
		}
		readers.Wait()
		scratch, err := catalog.Scratch(t.Context(), pool, canonical.DefaultParams(), every...)
		if err != nil {
			t.Fatal(err)
		}
		wantClean(t, differences(t, pool, scratch))
		const left = `SELECT concat_ws(', ', nullif(current_setting('search_path'), '"$user", public'), nullif(current_setting('jit'), 'on'),
			nullif(current_setting('transaction_read_only'), 'off'), nullif(current_setting('transaction_isolation'), 'read committed'))`
		for range 20 {
			var settings string
			if err := pool.QueryRow(t.Context(), left).Scan(&settings); err != nil || settings != "" {
				t.Errorf("left in a session: %s, %v", settings, err)
			}
		}
	})
}

// startPooler starts pgbouncer in front of a server and returns its URL.
func startPooler(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pgbouncer.ini")
	settings := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%s user=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 3\nserver_reset_query =\n",
		u.Port(), u.User.Username(), port)
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{file}
	if os.Geteuid() == 0 { // it refuses to run as root
		args = append(args, "-u", "nobody")
	}
	cmd := exec.Command("pgbouncer", args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("start pgbouncer: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	u.Host = fmt.Sprintf("127.0.0.1:%d", port)
	deadline, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", u.Host)
		if err == nil {
			_ = conn.Close() // it was only to see that somebody listens
			return u.String()
		}
		select {
		case <-deadline.Done():
			t.Fatal(errors.Join(errors.New("pgbouncer does not listen"), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
