package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// buildBinary builds the command as its users do.
func buildBinary(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "relay")
	// Without the stamp: it would make the build depend on git and on who owns the tree.
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// stored waits until the stream has n messages, and no more than that.
func stored(t *testing.T, js jetstream.JetStream, n uint64) {
	t.Helper()
	var have uint64
	eventually(t, "all events are in the stream", func() bool {
		stream, err := js.Stream(t.Context(), "ORDERS")
		if err != nil {
			t.Fatal(err)
		}
		have = stream.CachedInfo().State.Msgs
		return have >= n
	})
	if have != n {
		t.Errorf("the stream has %d messages, want %d", have, n)
	}
}

// query returns one number.
func query(t *testing.T, db *outboxtest.Database, sql string) (n int) {
	t.Helper()
	if err := db.Pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const (
	ownedLanes = "select count(*) from outbox.outbox_lane where lease_owner is not null"
	liveRelays = "select count(*) from outbox.outbox_relay"
	owners     = "select count(distinct lease_owner) from outbox.outbox_lane"
)

func TestRunDrainsSharesAndHandsBack(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	environ := []string{"RELAY_DATABASE_URL=" + db.URL, "RELAY_NATS_URL=" + broker.URL()}
	binary := buildBinary(t)

	first := startRelay(t, binary, environ...)
	stage(t, db, 200)
	stored(t, js, 200)
	if code, body := first.get("/livez", ""); code != 200 || body != "alive\n" {
		t.Errorf("/livez: %d %q", code, body)
	}
	first.awaitReady(200)
	code, body := first.get("/metrics", "")
	for _, want := range []string{"holdfast_relay_events_published_total{", "} 200\n", "go_goroutines ", `service_name="holdfast-relay"`} {
		if code != 200 || !strings.Contains(body, want) {
			t.Errorf("/metrics: %d, lacks %q:\n%s", code, want, body)
		}
	}

	second := startRelay(t, binary, environ...)
	eventually(t, "two relays share the lanes", func() bool { return query(t, db, ownedLanes) == 16 && query(t, db, owners) == 2 })
	first.signal(syscall.SIGTERM)
	if code := first.wait(); code != 0 {
		t.Errorf("the first relay exited with %d", code)
	}
	eventually(t, "the second relay has all lanes", func() bool { return query(t, db, ownedLanes) == 16 && query(t, db, owners) == 1 })
	stage(t, db, 100)
	stored(t, js, 300)

	second.signal(os.Interrupt.(syscall.Signal))
	if code := second.wait(); code != 0 {
		t.Errorf("the second relay exited with %d", code)
	}
	if lanes, relays := query(t, db, ownedLanes), query(t, db, liveRelays); lanes != 0 || relays != 0 {
		t.Errorf("%d lanes and %d relays are left behind", lanes, relays)
	}
	for line := range strings.Lines(db.ServerLog(t)) {
		cancelled := strings.Contains(line, "sqlstate=57014") // a read that the stop ended
		if strings.Contains(line, "ERROR:") && !cancelled {
			t.Errorf("a statement failed: %s", line)
		}
	}
}

func TestRunStartsBeforeDatabaseAndBroker(t *testing.T) {
	t.Parallel()
	cluster := outboxtest.NewCluster(t, harness.PostgresOptions{})
	db, broker := outboxtest.NewDatabaseIn(t, cluster), outboxtest.NewNATS(t)
	if err := cluster.Stop(t.Context(), "fast"); err != nil {
		t.Fatal(err)
	}
	broker.Stop()

	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(), "RELAY_UNREADY_AFTER=1s", "RELAY_RETRY_MAX=100ms")
	eventually(t, "the relay says that it waits", func() bool { return p.count("waiting for the database") > 0 })
	body := p.awaitReady(503)
	if !strings.Contains(body, `"hint":"`) || !strings.Contains(body, `"status":"not ready"`) {
		t.Errorf("/readyz says %s", body)
	}
	if code, _ := p.get("/livez", ""); code != 200 {
		t.Errorf("/livez is %d while the database is away", code)
	}

	if err := cluster.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the relay waits for the broker", func() bool {
		code, body := p.get("/readyz", "application/json")
		return code == 503 && strings.Contains(body, `"code":"broker"`)
	})
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	stage(t, db, 20)
	stored(t, js, 20)
	p.awaitReady(200)
	// One when it is away, and one if it was seen starting, about which other things can be done.
	if n := p.count("waiting for the database"); n < 1 || n > 2 {
		t.Errorf("%d lines say that the relay waits for the database, want 1 a minute for each hint", n)
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exited with %d", code)
	}
}

// A probe that failed with the broker would have every pod restarted, for nothing.
func TestRunStaysAliveWhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(), "RELAY_UNREADY_AFTER=1s", "RELAY_RETRY_MAX=100ms")
	p.awaitReady(200)
	broker.Stop()
	stage(t, db, 50)
	body := p.awaitReady(503)
	if !strings.Contains(body, `"code":"broker"`) || !strings.Contains(body, `"since":"`) {
		t.Errorf("/readyz says %s", body)
	}
	if code, _ := p.get("/livez", ""); code != 200 {
		t.Errorf("/livez is %d while the broker is away", code)
	}
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	stored(t, js, 50)
	p.awaitReady(200)
	if n := p.count("waiting for the broker"); n != 1 {
		t.Errorf("%d lines say that the relay waits for the broker, want 1 a minute", n)
	}
}

func TestRunWaitsForItsLogin(t *testing.T) {
	t.Parallel()
	const password = `p$HOME$$x`
	db := outboxtest.NewDatabase(t)
	broker := outboxtest.NewNATS(t, func(o *harness.NATSOptions) { *o = withLogin(*o, "relay", password) })
	environ := []string{"RELAY_DATABASE_URL=" + db.URL, "RELAY_NATS_URL=" + broker.URL(), "RELAY_NATS_USER=relay", "RELAY_UNREADY_AFTER=1s"}

	refused := startRelay(t, os.Args[0], append(environ, "RELAY_NATS_PASSWORD=wrong")...)
	eventually(t, "/readyz says that NATS refuses the login", func() bool {
		code, body := refused.get("/readyz", "application/json")
		return code == 503 && strings.Contains(body, "check the credentials")
	})
	if n := refused.count("nats refuses the relay"); n != 1 {
		t.Errorf("%d lines say that NATS refuses the relay, want 1 a minute", n)
	}
	if strings.Contains(refused.log(), "wrong") {
		t.Error("the password is in the log")
	}
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The server is up and has no stream, which the relay sees only once it is logged in.
	accepted := startRelay(t, os.Args[0], append(environ, "RELAY_NATS_PASSWORD_FILE="+secret)...)
	eventually(t, "/readyz says that the stream is missing", func() bool {
		code, body := accepted.get("/readyz", "application/json")
		return code == 503 && strings.Contains(body, "stream not found") && strings.Contains(body, "relay stream apply")
	})
}

func TestRunTakesOverFromAKilledRelay(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	environ := []string{"RELAY_DATABASE_URL=" + db.URL, "RELAY_NATS_URL=" + broker.URL(), "RELAY_LEASE=1s"}
	killed := startRelay(t, os.Args[0], environ...)
	eventually(t, "the relay has all lanes", func() bool { return query(t, db, ownedLanes) == 16 })
	killed.signal(syscall.SIGKILL)
	killed.wait()

	startRelay(t, os.Args[0], environ...)
	stage(t, db, 50)
	stored(t, js, 50)
}

func TestSecondSignalCuts(t *testing.T) {
	t.Parallel()
	// A server that takes the connection and says nothing keeps the relay in its connect.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL=postgres://nobody@127.0.0.1:1/none", "RELAY_NATS_URL=nats://"+silent.Addr().String())
	p.signal(syscall.SIGTERM)
	p.signal(os.Interrupt.(syscall.Signal))
	if code := p.wait(); code != 130 {
		t.Errorf("exited with %d, want 130", code)
	}
	if !strings.Contains(p.log(), `{"error":{"code":"interrupted","message":"interrupted again: cut"`) {
		t.Errorf("the log is %s", p.log())
	}
}
