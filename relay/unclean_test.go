package relay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestLaneThatWasNotDrainedIsNotHandedBackAsClean: a pod dies between publish and settle, the next one
// claims its lanes and stops before it has drained them, and a third one publishes nothing again.
func TestLaneThatWasNotDrainedIsNotHandedBackAsClean(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const window = 100 * time.Millisecond
	if _, err := s.js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: window}); err != nil {
		t.Fatal(err)
	}
	long := func(c *relayConfig) { c.Workers, c.Lease = 16, 2*time.Minute }
	first := s.start(long)
	s.awaitLanes(16)
	settles := s.noSettle()
	s.stage("", 400)
	s.eventually("400 events in the stream", func() bool { return s.count() == 400 })
	first.kill()
	s.commit(settles)
	s.eventually("the window is over", func() bool { return s.forgets(window) })
	before := s.count() // with the probes of the window
	s.exec("DELETE FROM outbox.outbox_relay")

	second := s.start(long)
	s.eventually("the second relay runs", func() bool { return strings.Contains(second.logs.String(), "relay started") })
	reads := s.begin()
	outboxtest.Exec(s.t, reads, "LOCK TABLE outbox.event_outbox IN ACCESS EXCLUSIVE MODE")
	s.exec("UPDATE outbox.outbox_lane SET lease_until = clock_timestamp()")
	s.eventually("the second relay has all lanes", func() bool {
		return query[int](s, "SELECT count(*) FROM outbox.outbox_lane WHERE lease_until > clock_timestamp()") == 16
	})
	if err := second.stopAndWait(); err != nil {
		t.Fatal(err)
	}
	s.commit(reads)

	s.start()
	s.eventually("400 events settled", func() bool { return s.settled() == 400 })
	if n := s.count(); n != before {
		t.Errorf("the stream has %d messages, want the %d from before", n, before)
	}
}

// TestReadyAgainWhenAnotherPodRetried: what a pod's retrier could not publish, another one did. The pod
// has nothing to try any more, and does not stay unready.
func TestReadyAgainWhenAnotherPodRetried(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.limitMessages(5000)
	p := s.start(func(c *relayConfig) {
		c.UnreadyAfter = time.Second
		c.Retry.Initial, c.Retry.Max, c.Retry.MaxRetries = 300*time.Millisecond, 300*time.Millisecond, 1000
	})
	s.stageLarge("k", 10_000)
	s.eventually("an event waits", func() bool { return query[int](s, "SELECT count(*) FROM outbox.outbox_retry") == 1 })
	s.eventually("ready", func() bool { return p.Ready() == nil })
	s.deleteStream()
	s.eventually("not ready", func() bool { return p.Ready() != nil })
	s.eventually("the retrier has noticed", func() bool {
		return query[int](s, "SELECT count(*) FROM outbox.outbox_retry WHERE lease_token IS NULL") == 1
	})
	s.exec("DELETE FROM outbox.outbox_retry") // as when another pod has published it
	s.createStream(streamName, "events.>")
	s.eventually("ready again", func() bool { return p.Ready() == nil })
}
