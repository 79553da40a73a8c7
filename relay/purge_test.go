package relay_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPurgeAndBrokerRestartAfterACrash: a relay is killed between publishing and settling, somebody
// empties the stream, and the broker restarts and with that forgets every id. The next relay finds
// nothing of what was published, publishes it again, and each event is there once; what was settled
// before the purge was taken away on purpose and stays away.
func TestPurgeAndBrokerRestartAfterACrash(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	first := s.start(func(c *relayConfig) { c.Workers = 16 }) // a settle that hangs keeps its worker
	s.stage("", 50)
	s.eventually("50 events settled", func() bool { return s.settled() == 50 })

	tx := s.noSettle()
	// One transaction, so that each lane has one batch: a second would wait for the first to settle.
	staging := s.begin()
	key := s.publishIn(staging, "a", 20)
	want := append(s.publishIn(staging, "", 180), key...)
	s.commit(staging)
	s.eventually("200 events published and not settled", func() bool { return s.count() == 250 })
	first.kill()
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.settled(); n != 50 {
		t.Fatalf("%d events are settled, the lock should have kept it at 50", n)
	}

	stream, err := s.js.Stream(t.Context(), streamName)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.nats.Stop()
	if err := s.nats.Start(); err != nil {
		t.Fatalf("start NATS: %v", err)
	}
	s.eventually("the stream answers", s.streamAnswers)
	if n := s.count(); n != 0 {
		t.Fatalf("%d messages after the purge", n)
	}

	s.start()
	s.eventually("250 events settled", func() bool { return s.settled() == 250 })
	var got, order []string
	for _, m := range s.inStream() {
		got = append(got, m.ID())
		if m.Extensions()["partitionkey"] == "a" {
			order = append(order, m.ID())
		}
	}
	if diff := cmp.Diff(key, order); diff != "" {
		t.Errorf("the key's events (-want +got):\n%s", diff)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events in the stream (-want +got):\n%s", diff)
	}
}
