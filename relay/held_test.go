package relay_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

// register opens a generation.
func (s *setup) register() outbox.Hold {
	s.t.Helper()
	h := outbox.Hold{Operation: uuid.Must(uuid.NewV7()), Generation: 1}
	if err := s.decide("hold_register", h); err != nil {
		s.t.Fatalf("register: %v", err)
	}
	return h
}

// decide calls a hold function.
func (s *setup) decide(function string, h outbox.Hold) error {
	_, err := s.db.Pool.Exec(s.t.Context(), "SELECT outbox."+function+"($1, $2, 'test')", h.Operation.String(), h.Generation)
	return err
}

func (s *setup) mustDecide(function string, h outbox.Hold) {
	s.t.Helper()
	if err := s.decide(function, h); err != nil {
		s.t.Fatalf("%s: %v", function, err)
	}
}

// stageHeld commits held events in a transaction of their own.
func (s *setup) stageHeld(h outbox.Hold, list ...event.Event) (ids []string) {
	s.t.Helper()
	err := pgx.BeginFunc(s.t.Context(), s.db.Pool, func(tx pgx.Tx) (err error) {
		ids, err = outbox.PublishTxHeld(s.t.Context(), tx, h, list...)
		return err
	})
	if err != nil {
		s.t.Fatalf("stage held: %v", err)
	}
	return ids
}

// TestHeldEventsBesideLiveTraffic holds 10,000 events beside live ones, which must not feel
// them, and then releases them in one call.
func TestHeldEventsBesideLiveTraffic(t *testing.T) {
	t.Parallel()
	free, held := newSetup(t), newSetup(t)
	h := held.register()
	var want []string
	for range 20 {
		list := events("", 400)
		for key := range 5 {
			list = append(list, events(fmt.Sprintf("key-%d", key), 20)...)
		}
		want = append(want, held.stageHeld(h, list...)...)
	}
	free.start()
	held.start()
	// In turns, so that what else the machine does hits both alike.
	var alone, beside []time.Duration
	for round := range 5 {
		alone = append(alone, free.live(2000, (round+1)*2000))
		beside = append(beside, held.live(2000, (round+1)*2000))
	}
	slices.Sort(alone)
	slices.Sort(beside)
	ratio := float64(alone[2]) / float64(beside[2])
	t.Logf("2,000 live events took %s alone and %s beside 10,000 held ones: throughput ratio %.2f", alone[2], beside[2], ratio)
	if ratio < 0.5 {
		t.Errorf("the live throughput fell to %.2f of what it is alone", ratio)
	}
	for _, m := range held.inStream() {
		if slices.Contains(want[:10], m.ID()) {
			t.Fatal("a held event was published")
		}
	}

	start := time.Now()
	held.mustDecide("hold_release", h)
	released := time.Since(start)
	held.awaitStream(20_000)
	t.Logf("released 10,000 events in %s, in the stream after %s", released, time.Since(start))
	held.wantStagingOrder(want)
	held.compareWithLog()
}

// live stages n events in transactions of 100 and waits until the stream has total.
func (s *setup) live(n, total int) time.Duration {
	s.t.Helper()
	start := time.Now()
	for range n / 100 {
		s.stage("", 100)
	}
	s.awaitStream(total)
	return time.Since(start)
}

// wantStagingOrder checks that events came in the order of a list, key by key, and those
// without a key lane by lane.
func (s *setup) wantStagingOrder(want []string) {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.t.Context(), "SELECT event_id, coalesce(partition_key, lane::text) FROM outbox.event_outbox WHERE event_id = ANY($1)", want)
	if err != nil {
		s.t.Fatalf("read the log: %v", err)
	}
	strand := map[string]string{}
	var id, name string
	if _, err := pgx.ForEachRow(rows, []any{&id, &name}, func() error { strand[id] = name; return nil }); err != nil {
		s.t.Fatalf("read the log: %v", err)
	}
	at := s.position()
	last := map[string]int{}
	for i, id := range want {
		p, found := at[id]
		if !found {
			s.t.Errorf("event %d of %d is not in the stream", i, len(want))
			continue
		}
		if p < last[strand[id]] {
			s.t.Errorf("event %d came before an earlier one of %s", i, strand[id])
		}
		last[strand[id]] = p
	}
}

// TestHeldEventsReleasedBehindLaterOnesAreNotMissed: their numbers were drawn before those
// that were published meanwhile.
func TestHeldEventsReleasedBehindLaterOnesAreNotMissed(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.start()
	h := s.register()
	held := s.stageHeld(h, events("k", 10)...)
	live := s.stage("k", 10)
	s.awaitStream(10)
	s.mustDecide("hold_release", h)
	s.awaitStream(20)
	if got, want := ids(s.inStream()), append(live, held...); !slices.Equal(got, want) {
		t.Errorf("the stream has %v, want %v", got, want)
	}
}

// TestDroppedEventsAreNeverPublished cancels in poll-only mode, with a relay that looks all
// the time.
func TestDroppedEventsAreNeverPublished(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	published := s.countPublications()
	s.start(func(c *relayConfig) { c.PollMin, c.PollMax = time.Millisecond, time.Millisecond })
	var dropped []string
	for round := range 20 {
		h := s.register()
		dropped = append(dropped, s.stageHeld(h, events("k", 5)...)...)
		s.stage("k", 1)
		s.mustDecide("hold_cancel", h)
		s.stage("k", 1) // behind the dropped ones of the key
		s.awaitStream(2 * (round + 1))
	}
	for _, id := range dropped {
		if published.of(id) > 0 {
			t.Errorf("event %s was dropped and published", id)
		}
	}
	s.wantLogInStream()
}

// TestReleaseRacingWithCancelPublishesAllOrNothing lets both decide at once, many times.
func TestReleaseRacingWithCancelPublishesAllOrNothing(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	published := s.countPublications()
	s.start(func(c *relayConfig) { c.PollMin, c.PollMax = time.Millisecond, time.Millisecond; c.BatchSize = 2 })
	released := 0
	for round := range 40 {
		h := s.register()
		ids := s.stageHeld(h, append(events("k", 3), events("", 3)...)...)
		errs := map[string]error{}
		var mu sync.Mutex
		var both sync.WaitGroup
		for _, function := range []string{"hold_release", "hold_cancel", "hold_release"} {
			both.Go(func() {
				err := s.decide(function, h)
				mu.Lock()
				defer mu.Unlock()
				errs[function] = err
			})
		}
		both.Wait()
		if (errs["hold_release"] == nil) == (errs["hold_cancel"] == nil) {
			t.Fatalf("round %d: release said %v and cancel %v", round, errs["hold_release"], errs["hold_cancel"])
		}
		want := 0
		if errs["hold_release"] == nil {
			want = 1
			released++
		}
		// The mark is staged after the decision, so the relay has seen both.
		s.stage("k", 1)
		s.eventually("the mark and what was released are settled", func() bool { return s.backlog() == 0 })
		// Whoever counts publications may come behind the settles.
		s.eventually("what was released is counted", func() bool {
			return !slices.ContainsFunc(ids, func(id string) bool { return published.of(id) < want })
		})
		for _, id := range ids {
			if n := published.of(id); n != want {
				t.Errorf("round %d: an event was published %d times, want %d", round, n, want)
			}
		}
	}
	t.Logf("%d of 40 generations were released", released)
	s.wantLogInStream()
}
