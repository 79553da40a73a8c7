package outboxtest

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

// NewNATS starts a NATS server with JetStream of the test's own, in this
// process, and closes it when the test ends. Each change is applied to the
// options first.
func NewNATS(t testing.TB, change ...func(*harness.NATSOptions)) *harness.NATS {
	t.Helper()
	var opts harness.NATSOptions
	for _, f := range change {
		f(&opts)
	}
	n, err := harness.StartNATS(opts)
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("outboxtest: close nats: %v", err)
		}
	})
	return n
}

// NewStream creates a stream on a server and returns the JetStream context that
// it used. Its connection is closed when the test ends.
func NewStream(t testing.TB, url, name string, subjects ...string) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(url, nats.Name(t.Name()))
	if err != nil {
		t.Fatalf("outboxtest: connect to nats at %s: %v", url, err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: subjects}); err != nil {
		t.Fatalf("outboxtest: create stream %s: %v", name, err)
	}
	return js
}
