package replay_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/replay"
)

// TestTwoReplaysAtOnceDeliverOnce: two people ask for the same replay at the same time, under one
// epoch, and each event is in the stream once more, and not twice.
func TestTwoReplaysAtOnceDeliverOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	for key := range 4 {
		s.stage("t", fmt.Sprint("key-", key), 200)
	}
	s.drain()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			r, err := replay.Run(t.Context(), s.db.Pool, s.nc, replay.Config{Relay: s.config(), Since: hourAgo(), Epoch: 5})
			if err != nil || r.Published != 800 {
				t.Errorf("result %+v, %v", r, err)
			}
		})
	}
	both.Wait()
	times := map[string]int{}
	for _, m := range s.messages(streamName) {
		times[m.id]++
	}
	if len(times) != 1600 {
		t.Errorf("%d messages, want 800 and as many of the replay", len(times))
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("message %s is in the stream %d times", id, n)
		}
	}
}

// TestWhatIsInFlightIsNotReplayed: events that are in the stream and not settled are a relay's still. It
// settles them once, beside a replay of the others.
func TestWhatIsInFlightIsNotReplayed(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("t", "settled", 10)
	s.drain()
	stop := s.start(func(c *relay.Config) { c.Workers = 16 })
	tx, err := s.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // ended below
	if _, err := tx.Exec(t.Context(), "LOCK TABLE outbox.outbox_batch IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	s.stage("t", "in flight", 7)
	s.eventually("they are in the stream", func() bool { return len(s.messages(streamName)) == 17 })
	plan, err := replay.MakePlan(t.Context(), s.db.Pool, replay.Config{Relay: s.config(), Since: hourAgo()})
	if err != nil || plan.Events != 10 || plan.OnTheirWay != 7 {
		t.Errorf("plan %+v, %v", plan, err)
	}
	if r := s.replays(); r.Published != 10 {
		t.Errorf("result %+v", r)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.eventually("all is settled", func() bool {
		return query[int64](s, "SELECT coalesce(sum(events), 0)::bigint FROM outbox.outbox_batch") == 17
	})
	stop()
	list := s.messages(streamName)
	if n := len(events(list, "in flight", false)); n != 7 || len(list) != 27 {
		t.Errorf("%d of %d messages are those that were in flight, want 7 of 27", n, len(list))
	}
	if n := len(events(list, "in flight", true)); n != 0 {
		t.Errorf("%d of those in flight were replayed", n)
	}
}

// TestSubjectThatTheStreamLacksIsLeftOut: events that cannot be sent stop neither the others of their
// batch nor later batches, also where somebody listens on their subject.
func TestSubjectThatTheStreamLacksIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, listened := range []bool{false, true} {
		s := newSetup(t)
		s.stage("good.first", "k", 20)
		s.stage("bad.event", "k", 2)
		s.stage("good.second", "k", 600)
		s.stage("bad.event", "", 1)
		s.drain()
		if listened {
			sub, err := s.nc.SubscribeSync("again.>")
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Unsubscribe() //nolint:errcheck // ends with the connection
		}
		if _, err := s.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "AGAIN", Subjects: []string{"again.good.>"}}); err != nil {
			t.Fatal(err)
		}
		r := s.replays(func(c *replay.Config) { c.Relay.Stream, c.Prefix = "AGAIN", "again" })
		if r.Published != 620 || r.Refused != 3 || r.Last != 623 {
			t.Errorf("result %+v", r)
		}
		if got := events(s.messages("AGAIN"), "k", true); len(got) != 620 {
			t.Errorf("%d events are replayed, want 620", len(got))
		}
		// A stream that has none of the subjects is the wrong one.
		cfg := replay.Config{Relay: s.config(), Since: hourAgo(), Prefix: "nowhere"}
		var wrong *relay.SubjectError
		if r, err := replay.Run(t.Context(), s.db.Pool, s.nc, cfg); !errors.As(err, &wrong) || r.Refused != 0 || r.Last != 0 {
			t.Errorf("into a stream without the subjects: %+v, %v", r, err)
		}
		cfg.LeaveStrays, cfg.Limit = true, 10
		if r, err := replay.Run(t.Context(), s.db.Pool, s.nc, cfg); err != nil || r.Refused != 10 || r.Published != 0 {
			t.Errorf("where they are left out: %+v, %v", r, err)
		}
	}
}
