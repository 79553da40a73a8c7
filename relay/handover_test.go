package relay_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestCrashBetweenPublishAndSettleLeavesOneCopy kills a relay whose events are in the stream
// and not settled, and lets the dedup window pass before the next one comes.
func TestCrashBetweenPublishAndSettleLeavesOneCopy(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const window = 100 * time.Millisecond
	_, err := s.js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: window})
	if err != nil {
		t.Fatalf("shorten the dedup window: %v", err)
	}
	first := s.start(func(c *relayConfig) { c.Workers = 16 }) // a settle that hangs keeps its worker
	s.stage("", 100)
	s.eventually("100 events settled", func() bool { return s.settled() == 100 })

	tx := s.noSettle()
	s.stage("", 400)
	s.eventually("500 events in the stream", func() bool { return s.count() == 500 })
	first.kill()
	if n := s.settled(); n != 100 {
		t.Fatalf("%d events are settled, the lock should have kept it at 100", n)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.eventually("the dedup window is over", func() bool { return s.forgets(window) })

	s.start()
	s.eventually("500 events settled", func() bool { return s.settled() == 500 })
	if n := s.count(); n != 500 {
		t.Errorf("the stream has %d messages, want 500: one copy of each event", n)
	}
}

// settled counts the settled events.
func (s *setup) settled() int64 {
	return query[int64](s, "SELECT coalesce(sum(events), 0) FROM outbox.outbox_batch")
}

// forgets reports whether the newest message of the stream is older than the dedup window, so
// that the stream would store its id again.
func (s *setup) forgets(window time.Duration) bool {
	stream, err := s.js.Stream(s.t.Context(), streamName)
	if err != nil {
		s.t.Fatalf("stream: %v", err)
	}
	return time.Since(stream.CachedInfo().State.LastTime) > 3*window
}

// TestSecondCrashDuringAHandOverLeavesOneCopy kills the relay that takes over as well, when it
// has settled a part of what the first one published.
func TestSecondCrashDuringAHandOverLeavesOneCopy(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const n, window = 800, 100 * time.Millisecond
	_, err := s.js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: window})
	if err != nil {
		t.Fatalf("shorten the dedup window: %v", err)
	}
	first := s.start(func(c *relayConfig) { c.Workers = 16 })
	s.awaitLanes(16)
	noSettle, onePage := s.noSettle(), s.begin()
	s.stage("", n)
	s.eventually("all events in the stream", func() bool { return s.count() == n })
	first.kill()
	s.eventually("the dedup window is over", func() bool { return s.forgets(window) })

	second := s.start(func(c *relayConfig) { c.Workers = 16; c.BatchSize = 10; c.Lease = time.Minute })
	s.eventually("each lane waits to settle a page", func() bool {
		return query[int](s, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock' AND query LIKE '-- Moves the cursor%'", second.name) == 16
	})
	outboxtest.Exec(s.t, onePage, "SELECT pg_advisory_xact_lock(1)")
	outboxtest.Exec(s.t, noSettle, `CREATE FUNCTION one_page() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF (SELECT count(*) FROM outbox.outbox_batch b WHERE b.lane = NEW.lane) > 1 THEN
				PERFORM pg_advisory_xact_lock(1);
			END IF;
			RETURN NULL;
		END $$`)
	outboxtest.Exec(s.t, noSettle, "CREATE TRIGGER one_page AFTER INSERT ON outbox.outbox_batch FOR EACH ROW EXECUTE FUNCTION one_page()")
	s.commit(noSettle)
	s.eventually("each lane settled a page", func() bool {
		return query[int](s, "SELECT count(*) FROM outbox.outbox_lane WHERE target IS NOT NULL") == 16
	})
	second.kill()
	if got := s.settled(); got != 160 {
		t.Fatalf("%d events are settled, the lock should have kept it at 160", got)
	}
	s.commit(onePage)
	s.exec("DROP TRIGGER one_page ON outbox.outbox_batch")
	s.exec("UPDATE outbox.outbox_lane SET lease_until = clock_timestamp()") // long leases, which have ended
	s.exec("DELETE FROM outbox.outbox_relay")

	s.start()
	s.eventually("all events settled", func() bool { return s.settled() == n })
	if got := s.count(); got != n {
		t.Errorf("the stream has %d messages, want %d: one copy of each event", got, n)
	}
}

// TestLookBackEndsWhereTheStreamEnds: the last message that a dead owner published was deleted
// from the stream, and its sequence never comes.
func TestLookBackEndsWhereTheStreamEnds(t *testing.T) {
	t.Parallel()
	for _, gone := range []uint64{1, 5} {
		s := newSetup(t)
		first := s.start()
		s.stage("", 5)
		s.eventually("5 events settled", func() bool { return s.settled() == 5 })
		first.kill()
		s.exec("UPDATE outbox.outbox_lane SET stream_seq = 0")
		stream, err := s.js.Stream(t.Context(), streamName)
		if err != nil {
			t.Fatal(err)
		}
		for seq := 5; seq > 5-int(gone); seq-- {
			if err := stream.DeleteMsg(t.Context(), uint64(seq)); err != nil {
				t.Fatal(err)
			}
		}
		s.stage("", 20)
		s.start()
		s.eventually("25 events settled", func() bool { return s.settled() == 25 })
	}
}

// TestLookBackInALongStreamKeepsOnlyWhatItLooksFor: the lanes have no stream sequence yet, so the whole
// stream is read, and nearly all of it is not theirs.
func TestLookBackInALongStreamKeepsOnlyWhatItLooksFor(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const foreign, window = 30_000, 100 * time.Millisecond
	_, err := s.js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: window})
	if err != nil {
		t.Fatalf("shorten the dedup window: %v", err)
	}
	for n := range foreign {
		m := &nats.Msg{Subject: "events.foreign", Header: nats.Header{nats.MsgIdHdr: {fmt.Sprintf("foreign-%d", n)}}}
		if _, err := s.js.PublishMsgAsync(m); err != nil {
			t.Fatal(err)
		}
		if n%1000 == 999 {
			select {
			case <-s.js.PublishAsyncComplete():
			case <-time.After(patience):
				t.Fatal("the stream is not filled")
			}
		}
	}
	first := s.start(func(c *relayConfig) { c.Workers = 16 })
	s.awaitLanes(16)
	noSettle := s.noSettle()
	s.stage("", 200)
	s.eventually("the events are in the stream", func() bool { return s.count() == foreign+200 })
	first.kill()
	s.commit(noSettle)
	s.exec("UPDATE outbox.outbox_lane SET stream_seq = 0")
	s.eventually("the dedup window is over", func() bool { return s.forgets(window) })
	s.stage("", 100)

	second := s.start()
	s.eventually("all events settled", func() bool { return s.settled() == 300 })
	if n := s.count(); n != foreign+300 {
		t.Errorf("the stream has %d messages, want %d: one copy of each event", n, foreign+300)
	}
	kept := 0
	for _, m := range regexp.MustCompile(`looked back.* ids=(\d+)`).FindAllStringSubmatch(second.logs.String(), -1) {
		n, _ := strconv.Atoi(m[1])
		kept += n
	}
	// Lanes of several claims look back once each, and again after a lost lease.
	if kept < 200 || kept >= foreign {
		t.Errorf("the look-backs kept %d ids, want the 200 that were not settled:\n%s", kept, second.logs)
	}
}
