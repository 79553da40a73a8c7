package harness

import (
	"net"
	"testing"
)

// portsOf returns a source of ports that gives the listed ones first.
func portsOf(ports ...int) func() (int, error) {
	return func() (int, error) {
		if len(ports) == 0 {
			return freePort()
		}
		port := ports[0]
		ports = ports[1:]
		return port, nil
	}
}

// busyPort listens on a port and never answers.
func busyPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func TestPostgresTakesAnotherPortWhenItsIsTaken(t *testing.T) {
	t.Parallel()
	start := func(nextPort func() (int, error)) *Postgres {
		t.Helper()
		pg, err := startPostgres(t.Context(), PostgresOptions{}, nextPort)
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
	first := start(portsOf(busyPort(t)))
	// The taken port may well be one that answers, as Postgres, with our own
	// user and without a password.
	second := start(portsOf(first.Port(), busyPort(t)))
	if first.Port() == second.Port() {
		t.Fatalf("two clusters on port %d", first.Port())
	}
	conn, err := second.connect(t.Context(), "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var dir string
	if err := conn.QueryRow(t.Context(), "select current_setting('data_directory')").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	if dir != second.dataDir() {
		t.Errorf("the second cluster's port leads to %s, want %s", dir, second.dataDir())
	}
}

func TestPostgresGivesUpWhenAllPortsAreTaken(t *testing.T) {
	t.Parallel()
	taken := busyPort(t)
	tries := 0
	pg, err := startPostgres(t.Context(), PostgresOptions{}, func() (int, error) { tries++; return taken, nil })
	if err == nil {
		_ = pg.Close()
		t.Fatal("a cluster started on a port that is taken")
	}
	if tries != startTries {
		t.Errorf("%d tries, want %d", tries, startTries)
	}
}

func TestNATSTakesAnotherPortWhenItsIsTaken(t *testing.T) {
	t.Parallel()
	taken := busyPort(t)
	n, err := startNATS(NATSOptions{}, portsOf(taken))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if n.Port() == taken || !n.Server().JetStreamEnabled() {
		t.Errorf("port %d, JetStream %v", n.Port(), n.Server().JetStreamEnabled())
	}
}
