package reconcile_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/reconcile"
)

// whileItReads compares, and does something when the stream is known and before a pass has read any of it; passes are
// counted from 0.
func (s *setup) whileItReads(pass int, cfg reconcile.Config, then func()) (*reconcile.Report, error) {
	s.t.Helper()
	proxy, err := fault.NewNATSProxy(s.nats.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = proxy.Close() })
	nc, err := nats.Connect(proxy.URL(), relay.NATSOptions("reconcile-slow")...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	// Nothing is read as long as there is no consumer.
	held := proxy.Add(fault.NATSRule{Match: fault.AtSubject(fault.OnRequest, "$JS.API.CONSUMER.CREATE."), After: pass, Do: fault.Swallow()})
	type outcome struct {
		report *reconcile.Report
		err    error
	}
	ended := make(chan outcome, 1)
	go func() {
		cfg.Relay = s.config()
		report, err := reconcile.Run(s.t.Context(), s.db.Pool, nc, cfg)
		ended <- outcome{report, err}
	}()
	select {
	case <-held.Hit():
	case o := <-ended:
		s.t.Fatalf("it does not come to pass %d: %+v, %v", pass, o.report, o.err)
	case <-time.After(90 * time.Second):
		s.t.Fatal("the comparison does not begin")
	}
	then()
	held.Remove()
	select {
	case o := <-ended:
		return o.report, o.err
	case <-time.After(90 * time.Second):
		s.t.Fatal("the comparison does not end")
		return nil, nil
	}
}

// TestRemovedWhileItReads is no proof that something is missing: nothing is said of it, and nothing published again.
func TestRemovedWhileItReads(t *testing.T) {
	t.Parallel()
	purge := func(s *setup) {
		if err := s.stream().Purge(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	}
	one := func(s *setup) { s.delete(stored{seq: 2000}) }
	front := func(s *setup) {
		if err := s.stream().Purge(s.t.Context(), jetstream.WithPurgeSequence(1001)); err != nil {
			s.t.Error(err)
		}
	}
	for _, c := range []struct {
		name   string
		pass   int
		window bool // from the second half on
		then   func(s *setup)
		whole  bool
	}{
		{"purged", 0, false, purge, false},
		{"purged between two passes", 1, false, purge, false},
		{"the first are purged", 0, false, front, false},
		{"one of the middle", 0, false, one, false},
		{"purged, of a window", 0, true, purge, false},
		{"the first are purged, of a window", 0, true, func(s *setup) {
			if err := s.stream().Purge(s.t.Context(), jetstream.WithPurgeSequence(1601)); err != nil {
				s.t.Error(err)
			}
		}, false},
		{"the first of a window", 0, true, func(s *setup) { s.delete(stored{seq: 1501}) }, false},
		{"one of the middle of a window", 0, true, one, false},
		{"what is before a window", 0, true, front, true},
		{"nothing", 0, false, func(*setup) {}, true},
	} {
		for _, repair := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, repair %v", c.name, repair), func(t *testing.T) {
				t.Parallel()
				s := newSetup(t)
				s.stage("", 1500)
				s.drain()
				s.stage("", 1) // which dates the beginning of the window
				s.drain()
				middle := query[time.Time](s, "SELECT clock_timestamp()")
				s.stage("", 1499)
				s.drain()
				s.delete(stored{seq: 500}) // a gap of before hides none
				s.put()                    // waits for the window only
				s.reconcile(func(c *reconcile.Config) { c.Repair = true })
				s.put()
				cfg := reconcile.Config{Repair: repair, Skew: time.Nanosecond, MaxEntries: 1_000_000}
				if c.pass > 0 {
					cfg.MaxEntries = 1600
				}
				if c.window {
					cfg.Since = middle
				}
				last := s.stream().CachedInfo().State.LastSeq
				r, err := s.whileItReads(c.pass, cfg, func() { c.then(s) })
				if n := s.stream().CachedInfo().State.LastSeq; n != last {
					t.Errorf("%d messages were published again", n-last)
				}
				if c.whole {
					if err != nil || r.Unexplained() != 0 {
						t.Errorf("%+v: %v", r, err)
					}
					return
				}
				var end *walk.EndError
				if !errors.As(err, &end) || !errors.Is(err, walk.ErrRemoved) || outbox.Hint(err) == "" {
					t.Errorf("%+v: %v", r, err)
				}
				if r.Counts[reconcile.Missing] != 0 || r.Repair != nil && *r.Repair != (reconcile.Repair{}) {
					t.Errorf("it says that events are missing: %+v", r)
				}
			})
		}
	}
}

// TestExpiredWhileItReads: what the limits drop meanwhile is explained, in the first pass and in later ones.
func TestExpiredWhileItReads(t *testing.T) {
	t.Parallel()
	for _, pass := range []int{0, 1} {
		t.Run(fmt.Sprint("pass ", pass), func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, func(c *jetstream.StreamConfig) { c.MaxMsgs = 3000 })
			s.stage("", 1500)
			s.drain()
			s.stage("", 1500)
			s.drain()
			s.put() // waits for the window only
			r, err := s.whileItReads(pass, reconcile.Config{Repair: true, MaxEntries: 1_000_000 - pass*998_400}, func() {
				for range 100 {
					if _, err := s.js.Publish(t.Context(), "events.junk", nil); err != nil {
						t.Error(err)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&reconcile.Repair{}, r.Repair); diff != "" {
				t.Errorf("repair (-want +got):\n%s", diff)
			}
			s.wants(r, counts{reconcile.Expired: r.Counts[reconcile.Expired]})
			// A later pass misses only those of its own keys.
			if n := r.Counts[reconcile.Expired]; n == 0 || n > 100 || pass == 0 && n != 100 {
				t.Errorf("%d events are expired", n)
			}
		})
	}
}
