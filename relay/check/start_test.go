package check_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/check"
)

func (b *bench) start() (check.Report, bool) {
	b.t.Helper()
	r, decided, err := check.Start(b.t.Context(), b.Target)
	if err != nil {
		b.t.Fatal(err)
	}
	return r, decided
}

// TestStartWaitsForWhatIsNotThere, and decides once it is.
func TestStartWaitsForWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if r, decided := b.start(); !decided || !r.Healthy() {
		t.Errorf("a healthy set-up: decided %v, %+v", decided, r.Of(check.Fail, check.Skip))
	}
	n := outboxtest.NewNATS(t)
	b.useNATS(n)
	if r, decided := b.start(); decided || !r.Healthy() {
		t.Errorf("no stream: decided %v, %+v", decided, r.Findings)
	}
	b.stream(jetstream.StreamConfig{})
	port := b.Database.ConnConfig.Port
	b.Database.ConnConfig.Port, b.Database.ConnConfig.Fallbacks = 1, nil
	if r, decided := b.start(); decided || !r.Healthy() {
		t.Errorf("no database: decided %v, %+v", decided, r.Findings)
	}
	b.Database.ConnConfig.Port = port
	b.Relay.Schema = "elsewhere"
	if r, decided := b.start(); decided || !r.Healthy() {
		t.Errorf("no schema: decided %v, %+v", decided, r.Findings)
	}
	b.Relay.Schema = "outbox"
	if r, decided := b.start(); !decided || !r.Healthy() {
		t.Errorf("all is there: decided %v, %+v", decided, r.Findings)
	}
	n.Stop()
	if r, decided := b.start(); decided || !r.Healthy() {
		t.Errorf("no server: decided %v, %+v", decided, r.Findings)
	}
}

func TestStartRefusesUnlessAllowedByName(t *testing.T) {
	t.Parallel()
	healthy := newBench(t)
	for name, stream := range map[string]jetstream.StreamConfig{
		"acknowledgements": {NoAck: true},
		"retention":        {Retention: jetstream.InterestPolicy},
		"persist-mode":     {PersistMode: jetstream.AsyncPersistMode},
		"dedup-window":     {Duplicates: 10 * time.Second},
		"message-size":     {MaxMsgSize: 5000},
		"subjects":         {Subjects: []string{"orders.>"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := healthy.on(t)
			b.useNATS(outboxtest.NewNATS(t))
			b.stream(stream)
			r, decided := b.start()
			if failed := r.Of(check.Fail); !decided || len(failed) != 1 || failed[0].Check != name {
				t.Errorf("decided %v, failed %+v", decided, failed)
			}
			b.Allow = []string{name}
			r, decided = b.start()
			if warned := r.Of(check.Warn, check.Fail); !decided || len(warned) != 1 || warned[0].Severity != check.Warn {
				t.Errorf("allowed by name: decided %v, %+v", decided, warned)
			}
		})
	}
	// Memory and one replica are warned of, and no reason not to start.
	b := healthy.on(t)
	b.Allow = nil
	b.useNATS(outboxtest.NewNATS(t))
	b.stream(jetstream.StreamConfig{Storage: jetstream.MemoryStorage, Retention: jetstream.WorkQueuePolicy})
	if r, decided := b.start(); !decided || !r.Healthy() {
		t.Errorf("decided %v, %+v", decided, r.Findings)
	}
}
