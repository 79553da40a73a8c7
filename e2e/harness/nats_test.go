package harness_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

func startNATS(t *testing.T, opts harness.NATSOptions) *harness.NATS {
	t.Helper()
	n, err := harness.StartNATS(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func jetStream(t *testing.T, n *harness.NATS) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(n.URL(), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// publish stores one message and returns how many the stream then has.
func publish(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	if _, err := js.Publish(t.Context(), "orders.created", []byte("1")); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

func createStream(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	config := jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

func TestNATSKeepsStoreAndPortOverStop(t *testing.T) {
	t.Parallel()
	n := startNATS(t, harness.NATSOptions{})
	url := n.URL()
	createStream(t, jetStream(t, n))
	for want := uint64(1); want <= 3; want++ {
		if got := publish(t, jetStream(t, n)); got != want {
			t.Fatalf("the stream has %d messages, want %d", got, want)
		}
		n.Stop()
		n.Stop()
		if _, err := nats.Connect(url); err == nil {
			t.Fatal("a stopped server accepts connections")
		}
		for range 2 {
			if err := n.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n.URL() != url {
		t.Errorf("the address changed from %s to %s", url, n.URL())
	}
}

func TestNATSClientReconnectsAfterRestart(t *testing.T) {
	t.Parallel()
	n := startNATS(t, harness.NATSOptions{})
	js := jetStream(t, n)
	createStream(t, js)
	publish(t, js)
	n.Stop()
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the client reconnects", func() bool {
		return js.Conn().IsConnected() && js.Conn().Stats().Reconnects > 0
	})
	if got := publish(t, js); got != 2 {
		t.Errorf("the stream has %d messages, want 2", got)
	}
}

func TestNATSOptions(t *testing.T) {
	t.Parallel()
	n := startNATS(t, harness.NATSOptions{
		MaxPayload: 512,
		Configure:  func(opts *server.Options) { opts.ServerName = "named" },
	})
	for range 2 {
		conn := jetStream(t, n).Conn()
		if conn.MaxPayload() != 512 || conn.ConnectedServerName() != "named" {
			t.Errorf("max payload %d, server name %s", conn.MaxPayload(), conn.ConnectedServerName())
		}
		n.Stop()
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if !n.Server().JetStreamEnabled() {
		t.Error("no JetStream")
	}
}

func TestNATSInNamedDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := startNATS(t, harness.NATSOptions{Dir: dir})
	js := jetStream(t, n)
	createStream(t, js)
	publish(t, js)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	again := startNATS(t, harness.NATSOptions{Dir: dir, Port: n.Port()})
	if again.Port() != n.Port() {
		t.Errorf("port %d, want %d", again.Port(), n.Port())
	}
	if got := publish(t, jetStream(t, again)); got != 2 {
		t.Errorf("the stream has %d messages, want 2", got)
	}
}

func TestNATSSaysWhyItCannotStart(t *testing.T) {
	t.Parallel()
	first := startNATS(t, harness.NATSOptions{})
	second, err := harness.StartNATS(harness.NATSOptions{Port: first.Port()})
	if err == nil {
		_ = second.Close()
		t.Fatal("two servers on one port")
	}
	if !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("the error does not say why: %v", err)
	}
}

func TestNATSClose(t *testing.T) {
	t.Parallel()
	n := startNATS(t, harness.NATSOptions{})
	if log, err := n.Log(); err != nil || !strings.Contains(log, "Server is ready") {
		t.Errorf("log %q, %v", log, err)
	}
	store := n.Server().JetStreamConfig().StoreDir
	for range 2 {
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Start(); err == nil {
		t.Error("a closed server started")
	}
	if _, err := n.Log(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Close left the directory: %v", err)
	}
	if _, err := os.Stat(store); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Close left the store: %v", err)
	}
}
