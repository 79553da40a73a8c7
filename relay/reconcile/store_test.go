package reconcile_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/relay/reconcile"
)

// stopped runs do while the broker is down. The client finds out later that it was down, so its
// status alone could be that of the connection it had before.
func (s *setup) stopped(do func(store string)) {
	s.t.Helper()
	reconnects := s.nc.Stats().Reconnects
	s.nats.Stop()
	do(filepath.Join(s.dir, "store"))
	if err := s.nats.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("the client is connected again", func() bool {
		return s.nc.Stats().Reconnects > reconnects && s.nc.Status() == nats.CONNECTED
	})
}

// TestStoreRolledBack gives the broker an old copy of its store, as after a crash that lost what was
// acknowledged and not yet on disk: 500 settled events are gone. They are found, put back under
// their ids, and nothing else is.
func TestStoreRolledBack(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("old", 200)
	s.drain()
	backup := filepath.Join(t.TempDir(), "store")
	s.stopped(func(store string) {
		if err := os.CopyFS(backup, os.DirFS(store)); err != nil {
			t.Fatal(err)
		}
	})
	var want []string
	for _, key := range []string{"a", "b", "c", "d", "old"} {
		want = append(want, s.stage(key, 100)...)
	}
	s.drain()
	if n := len(s.messages()); n != 700 {
		t.Fatalf("the stream has %d messages", n)
	}
	s.stopped(func(store string) {
		if err := os.RemoveAll(store); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(store, os.DirFS(backup)); err != nil {
			t.Fatal(err)
		}
	})
	if n := len(s.messages()); n != 200 {
		t.Fatalf("the stream has %d messages after the roll-back", n)
	}

	r := s.reconcile(func(c *reconcile.Config) { c.Examples = 1000 })
	s.wants(r, counts{reconcile.Missing: 500})
	if !r.Regressed || r.Acknowledged != 700 || r.Last != 200 || r.Present != 200 {
		t.Errorf("report %+v", r)
	}
	got := idsOf(r, reconcile.Missing)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("missing ids (-want +got):\n%s", diff)
	}

	r = s.reconcile(withRepair)
	if diff := cmp.Diff(&reconcile.Repair{Published: 500}, r.Repair); diff != "" {
		t.Errorf("repair (-want +got):\n%s", diff)
	}
	r = s.reconcile()
	s.wants(r, counts{})
	if r.Present != 700 || r.Last != 700 || r.Regressed {
		t.Errorf("report %+v", r)
	}
	got = nil
	for _, m := range s.messages()[200:] {
		got = append(got, m.ID())
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("repaired ids (-want +got):\n%s", diff)
	}
}

// TestStoreEmpty: the stream was made anew, and its sequences begin again.
func TestStoreEmpty(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("k", 120)
	s.drain()
	if err := s.js.DeleteStream(t.Context(), streamName); err != nil {
		t.Fatal(err)
	}
	if _, err := s.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}}); err != nil {
		t.Fatal(err)
	}
	r := s.reconcile()
	s.wants(r, counts{reconcile.Missing: 120})
	if !r.Regressed || r.Last != 0 || len(r.Examples) != 10 || r.Examples[0].Seq >= r.Examples[9].Seq {
		t.Errorf("report %+v", r)
	}
	s.stage("k", 30)
	s.drain() // goes on by itself
	r = s.reconcile(withRepair)
	if r.Counts[reconcile.Missing] != 120 || r.Repair.Published != 120 || r.Unexplained() != 0 {
		t.Errorf("report %+v", r)
	}
	r = s.reconcile()
	s.wants(r, counts{reconcile.Late: 120})
}

// swap gives the broker another store, and keeps the one that it has in old.
func (s *setup) swap(to, old string) {
	s.t.Helper()
	s.stopped(func(store string) {
		if err := os.CopyFS(old, os.DirFS(store)); err != nil {
			s.t.Fatal(err)
		}
		if err := os.RemoveAll(store); err != nil {
			s.t.Fatal(err)
		}
		if err := os.CopyFS(store, os.DirFS(to)); err != nil {
			s.t.Fatal(err)
		}
	})
}

// TestTailsDiverge: two copies of a stream went on from the same beginning, each with events that the
// other has not, under the same sequences. Whichever survives, what only the other one had is
// found by its ids and put back; the sequences prove nothing.
func TestTailsDiverge(t *testing.T) {
	t.Parallel()
	for _, survivor := range []string{"one", "two"} {
		t.Run(survivor, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			dir := t.TempDir()
			fork, one, two := filepath.Join(dir, "fork"), filepath.Join(dir, "one"), filepath.Join(dir, "two")
			s.stage("k", 60)
			s.drain()
			s.stopped(func(store string) {
				if err := os.CopyFS(fork, os.DirFS(store)); err != nil {
					t.Fatal(err)
				}
			})
			ones := append(s.stage("k", 30), s.stage("one", 10)...)
			s.drain()
			s.swap(fork, one)
			twos := append(s.stage("k", 30), s.stage("two", 20)...)
			s.drain()
			if survivor == "one" {
				s.swap(one, two)
			}
			gone := ones
			if survivor == "one" {
				gone = twos
			}

			r := s.reconcile(func(c *reconcile.Config) { c.Examples = 1000 })
			s.wants(r, counts{reconcile.Missing: int64(len(gone))})
			got, want := idsOf(r, reconcile.Missing), slices.Clone(gone)
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("missing ids (-want +got):\n%s", diff)
			}
			r = s.reconcile(withRepair)
			if diff := cmp.Diff(&reconcile.Repair{Published: int64(len(gone))}, r.Repair); diff != "" {
				t.Errorf("repair (-want +got):\n%s", diff)
			}
			r = s.reconcile()
			delete(r.Counts, reconcile.Late) // those of key k that the survivor had later ones of
			s.wants(r, counts{})
			if n := int64(60 + len(ones) + len(twos)); r.Present != n || r.Messages != n {
				t.Errorf("report %+v, want %d events, each once", r, n)
			}
		})
	}
}

// TestPurgedStream: what somebody took out of the stream on purpose is missing as anything else is,
// and a window keeps it out of the comparison and of the repair.
func TestPurgedStream(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("k", 40)
	s.drain()
	middle := query[time.Time](s, "SELECT clock_timestamp()")
	if err := s.stream().Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.stopped(func(string) {}) // the broker forgets the ids
	s.stage("k", 25)
	s.drain()
	r := s.reconcile()
	s.wants(r, counts{reconcile.Missing: 40})
	if r.Present != 25 || r.Regressed {
		t.Errorf("report %+v", r)
	}
	r = s.reconcile(withRepair, func(c *reconcile.Config) { c.Since = middle })
	s.wants(r, counts{})
	if r.Present != 25 || r.Repair.Published != 0 || len(s.messages()) != 25 {
		t.Errorf("report %+v, %d messages", r, len(s.messages()))
	}
}
