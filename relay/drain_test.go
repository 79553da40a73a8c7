package relay_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommittedEventsReachTheStreamInOrder(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	want := s.stage("k", 50)
	s.start()
	s.eventually("50 events in the stream", func() bool { return s.count() == 50 })
	if diff := cmp.Diff(want, ids(s.inStream())); diff != "" {
		t.Errorf("order (-staged +stream):\n%s", diff)
	}
}

func TestBacklogIsPagedCompletely(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	var want []string
	for range 20 {
		want = append(want, s.stage("", 500)...)
	}
	s.start(func(c *relayConfig) { c.BatchSize = 64 })
	s.eventually("10,000 events in the stream", func() bool { return s.count() == 10_000 })
	got := ids(s.inStream())
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-staged +stream):\n%s", diff)
	}
	s.eventually("all cursors at rest", func() bool {
		return query[int64](s, "SELECT count(*) FROM outbox.outbox_lane WHERE target IS NOT NULL") == 0
	})
	if n := query[int64](s, "SELECT sum(events) FROM outbox.outbox_batch"); n != 10_000 {
		t.Errorf("settled batches count %d events, want 10000", n)
	}
}
