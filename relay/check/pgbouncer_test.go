//go:build pooler

package check_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestBehindPgbouncer: as TestBehindAPooler, with pgbouncer in transaction mode. It has a build tag,
// because pgbouncer must be installed; one before 1.21 loses prepared statements.
func TestBehindPgbouncer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	server, err := url.Parse(b.db.URL)
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().(*net.TCPAddr)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "pgbouncer.ini")
	settings := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%s user=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\n"+
		"unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 5\nserver_reset_query =\nmax_prepared_statements = 0\n", server.Port(), b.login(), address.Port)
	if version, err := exec.Command("pgbouncer", "-V").Output(); err == nil && string(version) < "PgBouncer 1.21" {
		settings = settings[:len(settings)-len("max_prepared_statements = 0\n")] // not known to it
	}
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{file}
	if os.Geteuid() == 0 { // it refuses to run as root
		args = append(args, "-u", "nobody")
	}
	cmd := exec.Command("pgbouncer", args...)
	if err := cmd.Start(); err != nil {
		t.Fatalf("start pgbouncer: %v; hint: on Debian, apt-get install pgbouncer", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(patience); ; {
		conn, err := net.Dial("tcp", address.String())
		if err == nil {
			_ = conn.Close() // it was only to see that somebody listens
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(errors.Join(errors.New("pgbouncer does not listen"), err))
		}
	}
	behindTransactionPooler(b, &url.URL{Scheme: "postgres", User: url.User(b.login()), Host: address.String(), Path: "/" + b.db.Name, RawQuery: "sslmode=disable"})
}
