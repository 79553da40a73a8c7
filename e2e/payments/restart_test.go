package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestEverythingDiesUnderLoad: two pods are killed at random moments, and the broker and the database restart, while
// events come; after each fault it goes on, and at the end nothing is missing and nothing is there twice.
func TestEverythingDiesUnderLoad(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	pg := outboxtest.NewCluster(t, harness.PostgresOptions{})
	s := newSite(t, outboxtest.NewDatabaseIn(t, pg))
	s.webhook(paid(3))
	pods := []*process{s.start("pod-0.0", "wallet"), s.start("pod-1.0", "wallet")}
	published := s.underLoad()
	kill := func(round int) {
		i := rng.IntN(len(pods))
		pods[i].proc.Kill()
		pods[i] = s.start(fmt.Sprintf("pod-%d.%d", i, round), "wallet")
	}
	for round, fault := range []string{"kill", "broker", "kill", "database", "kill", "both", "kill"} {
		s.goesOn("before " + fault)
		time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond) // a fault at any moment
		if fault == "broker" || fault == "both" {
			s.nats.Stop()
		}
		if fault == "database" || fault == "both" {
			pg.Kill()
		}
		kill(round + 1)
		if err := s.nats.Start(); err != nil {
			t.Fatal(err)
		}
		if err := pg.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.goesOn("after all of it")
	n := published()
	s.settled("wallet")
	for _, p := range pods {
		p.stop()
	}
	s.wantLoad(n, 1)
}

// underLoad publishes until the function that it returns is called, which returns how many
// payments there were.
func (s *site) underLoad() (stop func() int) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	n := 0
	var all errgroup.Group
	all.Go(func() error {
		for ; ctx.Err() == nil; n++ {
			for _, m := range messages(n) {
				if err := s.send(m.Event, m.key); err != nil {
					return err
				}
			}
			time.Sleep(10 * time.Millisecond) // part of the load
		}
		return nil
	})
	ended := sync.OnceValue(func() error {
		cancel()
		return all.Wait()
	})
	s.t.Cleanup(func() {
		if err := ended(); err != nil {
			s.t.Error(err)
		}
	})
	return func() int {
		_ = ended() // the end of the test says it
		return n
	}
}

// goesOn waits until some more entries are there.
func (s *site) goesOn(when string) {
	s.t.Helper()
	count := func() (n int) {
		if s.db.Pool.QueryRow(s.t.Context(), "SELECT count(*) FROM wallet.entry").Scan(&n) != nil {
			return -1
		}
		return n
	}
	before := -1
	s.eventually("it goes on "+when, func() bool {
		n := count()
		if before < 0 {
			before = n
		}
		return n >= before+5
	})
}

// TestDownForLongerThanEveryWindow: the broker has forgotten the ids, the inbox is pruned before anything is
// delivered, and the producer tells everything again.
func TestDownForLongerThanEveryWindow(t *testing.T) {
	t.Parallel()
	s := newSite(t, outboxtest.NewDatabase(t))
	window := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: 100 * time.Millisecond}
	if _, err := s.js.UpdateStream(t.Context(), window); err != nil {
		t.Fatal(err)
	}
	if s.duplicate(paid(1)) {
		t.Fatal("the first one is a duplicate")
	}
	s.webhook(paid(3))
	s.load(0, 10)
	p := s.start("before", "wallet")
	s.settled("wallet")
	p.stop()
	s.load(10, 12) // nobody is there
	s.eventually("the broker forgets the id", func() bool { return !s.duplicate(paid(1)) })
	s.yearsPass()
	s.load(0, 12)
	p = s.start("after", "wallet")
	s.settled("wallet")
	p.stop()
	s.wantLoad(12, 2)
}

// duplicate publishes an event with its id, and reports whether the broker knew it.
func (s *site) duplicate(e event.Event) bool {
	s.t.Helper()
	msg, err := encode(e, "")
	if err != nil {
		s.t.Fatal(err)
	}
	ack, err := s.js.PublishMsg(s.t.Context(), msg)
	if err != nil {
		s.t.Fatal(err)
	}
	return ack.Duplicate
}
