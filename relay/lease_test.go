package relay_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/relay"
)

// lanes counts the lanes of each live owner.
func (s *setup) lanes() map[string]int {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.t.Context(), "SELECT lease_owner, count(*) FROM outbox.outbox_lane WHERE lease_until > clock_timestamp() GROUP BY 1")
	if err != nil {
		s.t.Fatalf("count lanes: %v", err)
	}
	owners := map[string]int{}
	var owner string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&owner, &n}, func() error { owners[owner] = n; return nil }); err != nil {
		s.t.Fatalf("count lanes: %v", err)
	}
	return owners
}

// awaitLanes waits until the live owners have these many lanes, in any order.
func (s *setup) awaitLanes(want ...int) {
	s.t.Helper()
	var got []int
	deadline := time.Now().Add(patience)
	for {
		if got = slices.Sorted(maps.Values(s.lanes())); slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("lanes %v after %s, want %v", got, patience, want)
		}
		pause(s.t.Context(), 5*time.Millisecond)
	}
}

func TestLanesAreSharedFairly(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	first := s.start()
	s.awaitLanes(16)
	second := s.start()
	s.awaitLanes(8, 8)
	third := s.start()
	s.awaitLanes(4, 6, 6)
	l := s.startLoad(4)
	if err := second.stopAndWait(); err != nil {
		t.Errorf("run: %v", err)
	}
	s.awaitLanes(8, 8)
	third.kill()
	s.awaitLanes(16)
	if owners := s.lanes(); owners[first.Owner()] != 16 {
		t.Errorf("lanes %v, want all with %s", owners, first.Owner())
	}
	l.stop()
	s.wantLogInStream()
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d, each once", n, want)
	}
}

// TestMorePodsThanLanes: those that have none are ready and take over.
func TestMorePodsThanLanes(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.exec("DELETE FROM outbox.outbox_lane WHERE lane >= 2")
	pods := []*pod{s.start(), s.start(), s.start()}
	s.awaitLanes(1, 1)
	for _, p := range pods {
		s.eventually("each pod is ready", func() bool { return p.Ready() == nil })
	}
	owners := s.lanes()
	for _, p := range pods {
		if owners[p.Owner()] == 1 {
			p.kill()
		}
	}
	s.awaitLanes(2)
}

// TestStoppedPodHandsItsLanesBackAtOnce: the others need not wait for a lease, nor for
// their next renewal.
func TestStoppedPodHandsItsLanesBackAtOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const lease = 30 * time.Second
	long := func(c *relayConfig) { c.Lease = lease }
	first, second := s.start(long), s.start(long)
	s.awaitLanes(8, 8)
	s.stage("", 100)
	s.eventually("100 events settled", func() bool { return s.settled() == 100 })
	if err := first.stopAndWait(); err != nil {
		t.Errorf("run: %v", err)
	}
	start := time.Now()
	s.stage("", 100)
	s.within(lease, "200 events settled", func() bool { return s.settled() == 200 })
	took := time.Since(start)
	t.Logf("drained after %s", took)
	if took > lease/2 {
		t.Errorf("the lanes that were handed back were drained after %s", took)
	}
	if n := s.lanes()[second.Owner()]; n != 16 {
		t.Errorf("%d lanes with the second pod, want 16", n)
	}
}

// TestKilledPodsLanesAreDrainedAfterItsLease kills a process.
func TestKilledPodsLanesAreDrainedAfterItsLease(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const lease = 6 * time.Second
	long := func(c *relayConfig) { c.Lease = lease }
	first := s.startChild(long)
	s.awaitLanes(16)
	s.start(long)
	s.awaitLanes(8, 8)
	first.kill()
	start := time.Now()
	s.stage("", 200)
	s.eventually("200 events settled", func() bool { return s.settled() == 200 })
	t.Logf("drained %s after the kill, with a lease of %s", time.Since(start), lease)
}

// TestFrozenPodSettlesNothing stops a process for longer than its lease, with work under way,
// again and again.
func TestFrozenPodSettlesNothing(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	short := func(c *relayConfig) { c.Lease = time.Second; c.BatchSize = 10 }
	frozen := s.startChild(short)
	s.awaitLanes(16)
	other := s.start(short)
	s.awaitLanes(8, 8)
	l := s.startLoad(4)
	for range 3 {
		before := s.settled()
		s.eventually("progress", func() bool { return s.settled() >= before+100 })
		frozen.freeze()
		s.eventually("the other pod has all lanes", func() bool { return s.lanes()[other.Owner()] == 16 })
		frozen.thaw()
		s.awaitLanes(8, 8)
	}
	l.stop()
	s.wantLogInStream()
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d, each once", n, want)
	}
	if !strings.Contains(frozen.logs.String(), "lanes lost") {
		t.Errorf("the frozen pod does not know that it lost its lanes:\n%s", frozen.logs)
	}
}

// TestStolenLaneIsForgotten takes a lane away while its batch is in flight.
func TestStolenLaneIsForgotten(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	wire := newLink(t, s.nats.URL())
	published := s.countPublications()
	p := s.startOn(s.relayURL(), wire.url, func(c *relayConfig) { c.Lease = time.Minute; c.AckTimeout = time.Minute })
	s.stage("k", 1)
	s.eventually("the first event settled", func() bool { return s.settled() == 1 })
	lane := query[int16](s, "SELECT lane FROM outbox.event_outbox")
	drained := query[string](s, "SELECT drained::text FROM outbox.outbox_lane WHERE lane = $1", lane)

	wire.holdReplies()
	s.stage("k", 3)
	s.eventually("its batch is in flight", func() bool { n, _ := published.events(); return n == 2 })
	s.exec("UPDATE outbox.outbox_lane SET lease_owner = 'thief', lease_token = gen_random_uuid(), lease_until = clock_timestamp() + '1 hour' WHERE lane = $1", lane)
	wire.resume()
	s.eventually("it is told", func() bool { return strings.Contains(p.logs.String(), "lanes lost") })

	after := s.stage("k", 1)
	s.stageInOtherLane(lane)
	s.eventually("another lane goes on", func() bool { return s.settled() == 2 })
	if n := published.of(after[0]); n != 0 {
		t.Errorf("an event of the stolen lane was published %d times", n)
	}
	if now := query[string](s, "SELECT drained::text FROM outbox.outbox_lane WHERE lane = $1", lane); now != drained {
		t.Errorf("the cursor of the stolen lane moved from %s to %s", drained, now)
	}
	s.exec("UPDATE outbox.outbox_lane SET lease_owner = NULL, lease_token = NULL, lease_until = NULL WHERE lane = $1", lane)
	s.wantLogInStream()
}

// stageInOtherLane commits an event of another lane.
func (s *setup) stageInOtherLane(lane int16) {
	s.t.Helper()
	for range 100 {
		if id := s.stage("", 1); query[int16](s, "SELECT lane FROM outbox.event_outbox WHERE event_id = $1", id[0]) != lane {
			return
		}
		s.exec("DELETE FROM outbox.event_outbox WHERE seq = (SELECT max(seq) FROM outbox.event_outbox)")
	}
	s.t.Fatal("every event lands in one lane")
}

// TestSettleNeedsItsTokenAndALiveLease runs the statement itself.
func TestSettleNeedsItsTokenAndALiveLease(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	st := relay.StatementTexts("outbox")
	type state struct {
		Drained string
		Batches int
	}
	present := func() state {
		return state{query[string](s, "SELECT drained::text FROM outbox.outbox_lane WHERE lane = 0"), query[int](s, "SELECT count(*) FROM outbox.outbox_batch")}
	}
	s.exec("UPDATE outbox.outbox_lane SET lease_owner = 'a', lease_token = gen_random_uuid(), lease_until = clock_timestamp() + '1 hour' WHERE lane = 0")
	token := query[string](s, "SELECT lease_token::text FROM outbox.outbox_lane WHERE lane = 0")
	incarnation := query[string](s, "SELECT "+relay.Incarnation)
	settle := func(token, incarnation string) int {
		snapshot := query[string](s, "SELECT pg_current_snapshot()::text")
		return query[int](s, st["settle"], "default", int16(0), token, snapshot, nil, nil, int64(7), 1, int64(1), int64(1), streamName, int64(7), int64(7), incarnation,
			nil, nil, nil, nil, nil, time.Second)
	}
	untouched := func(what string, n int, before state) {
		t.Helper()
		if diff := cmp.Diff(before, present()); n != 0 || diff != "" {
			t.Errorf("%s: settle found %d lanes and changed (-before +after):\n%s", what, n, diff)
		}
	}

	before := present()
	untouched("a foreign token", settle("0190b0c4-7d1e-7c1e-8a44-5a3c2c1f9d10", incarnation), before)
	untouched("another life of the server", settle(token, "another"), before)
	if n := settle(token, incarnation); n != 1 || present() == before {
		t.Errorf("a settle with its token found %d lanes and left %v", n, present())
	}
	s.exec("UPDATE outbox.outbox_lane SET lease_until = clock_timestamp() WHERE lane = 0")
	before = present()
	untouched("an expired lease that nobody took", settle(token, incarnation), before)
}

// TestRenewalNeedsItsTokenAndALiveLease runs the statement itself: it keeps what is its own, and
// moves the cursor of an idle lane only from where the pod knows it to be.
func TestRenewalNeedsItsTokenAndALiveLease(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	st := relay.StatementTexts("outbox")
	s.exec(`UPDATE outbox.outbox_lane SET lease_owner = 'a', lease_token = gen_random_uuid(),
		lease_until = clock_timestamp() + CASE lane WHEN 1 THEN '-1 s'::interval ELSE '1 hour' END WHERE lane < 6`)
	s.exec("UPDATE outbox.outbox_lane SET lease_token = gen_random_uuid() WHERE lane = 2")
	s.exec("UPDATE outbox.outbox_lane SET drained = '5:5:' WHERE lane = 3")
	s.exec("UPDATE outbox.outbox_lane SET target = '9:9:', pos = 1 WHERE lane = 4")
	incarnation := query[string](s, "SELECT "+relay.Incarnation)
	lanes := []int16{0, 1, 2, 3, 4, 5}
	tokens := make([]string, len(lanes))
	for i, lane := range lanes {
		tokens[i] = query[string](s, "SELECT lease_token::text FROM outbox.outbox_lane WHERE lane = $1", lane)
	}
	tokens[2] = "0190b0c4-7d1e-7c1e-8a44-5a3c2c1f9d10"
	stored := slices.Repeat([]string{"1:1:"}, len(lanes))
	drained := slices.Repeat([]string{"7:7:"}, len(lanes))
	lives := slices.Repeat([]string{incarnation}, len(lanes))
	lives[5] = "another"
	known := slices.Repeat([]int64{70}, len(lanes))

	var kept []int16
	var pods, all int
	err := s.db.Pool.QueryRow(t.Context(), st["renew"], "default", "a", "v", time.Minute, lanes, tokens, stored, drained, lives, known).Scan(&kept, &pods, &all)
	if err != nil {
		t.Fatalf("renew: %v", err)
	}
	slices.Sort(kept)
	if diff := cmp.Diff([]int16{0, 3, 4, 5}, kept); diff != "" || pods != 1 || all != 16 {
		t.Errorf("%d pods, %d lanes, kept (-want +got):\n%s", pods, all, diff)
	}
	want := []string{"7:7: 70", "1:1: 0", "1:1: 0", "5:5: 0", "1:1: 0", "1:1: 0"}
	for i, lane := range lanes {
		if got := query[string](s, "SELECT drained::text || ' ' || stream_seq FROM outbox.outbox_lane WHERE lane = $1", lane); got != want[i] {
			t.Errorf("lane %d: cursor and stream sequence %s, want %s", lane, got, want[i])
		}
	}
}

// TestSettleRepeatedIsRecordedOnce: the outcome of the first may have been lost.
func TestSettleRepeatedIsRecordedOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	st := relay.StatementTexts("outbox")
	s.exec("UPDATE outbox.outbox_lane SET lease_owner = 'a', lease_token = gen_random_uuid(), lease_until = clock_timestamp() + '1 hour' WHERE lane = 0")
	token := query[string](s, "SELECT lease_token::text FROM outbox.outbox_lane WHERE lane = 0")
	incarnation := query[string](s, "SELECT "+relay.Incarnation)
	snapshot := query[string](s, "SELECT pg_current_snapshot()::text")
	pos := int64(41)
	for _, paging := range []struct {
		target *string
		pos    *int64
	}{{nil, nil}, {&snapshot, &pos}} {
		before := s.settled()
		for range 3 {
			n := query[int](s, st["settle"], "default", int16(0), token, snapshot, paging.target, paging.pos, int64(7), 5, int64(1), int64(9), streamName, int64(3), int64(7), incarnation,
				nil, nil, nil, nil, nil, time.Second)
			if n != 1 {
				t.Errorf("settle found %d lanes", n)
			}
		}
		if n := s.settled() - before; n != 5 {
			t.Errorf("a batch of 5 events was recorded as %d", n)
		}
	}
}

// TestAbandonedLeaseKeepsItsEnd: a lease that is given up ends now, and one that has ended keeps its end,
// which says when its lane was last owned.
func TestAbandonedLeaseKeepsItsEnd(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	st := relay.StatementTexts("outbox")
	s.exec(`UPDATE outbox.outbox_lane SET lease_owner = 'a', lease_token = gen_random_uuid(),
		lease_until = clock_timestamp() + CASE lane WHEN 0 THEN interval '1 hour' ELSE interval '-1 hour' END WHERE lane IN (0, 1)`)
	ended := query[time.Time](s, "SELECT lease_until FROM outbox.outbox_lane WHERE lane = 1")
	tokens := query[[]string](s, "SELECT array_agg(lease_token::text ORDER BY lane) FROM outbox.outbox_lane WHERE lane IN (0, 1)")
	before := query[time.Time](s, "SELECT clock_timestamp()")
	s.exec(st["abandon"], "default", []int16{0, 1}, tokens)
	if at := query[time.Time](s, "SELECT lease_until FROM outbox.outbox_lane WHERE lane = 0"); at.Before(before) || at.After(query[time.Time](s, "SELECT clock_timestamp()")) {
		t.Errorf("a live lease that was given up at %s ends at %s", before, at)
	}
	if at := query[time.Time](s, "SELECT lease_until FROM outbox.outbox_lane WHERE lane = 1"); !at.Equal(ended) {
		t.Errorf("a lease that ended at %s ends at %s after it was given up", ended, at)
	}
}
