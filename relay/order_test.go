package relay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
)

// begin opens a transaction that has an id already, and rolls it back at the end of the test.
func (s *setup) begin() pgx.Tx {
	s.t.Helper()
	tx, err := s.db.Pool.Begin(s.t.Context())
	if err != nil {
		s.t.Fatalf("begin: %v", err)
	}
	s.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(s.t.Context(), "SELECT pg_current_xact_id()"); err != nil {
		s.t.Fatalf("begin: %v", err)
	}
	return tx
}

// noSettle begins a transaction with a lock that no settle can pass; publishing can.
func (s *setup) noSettle() pgx.Tx {
	s.t.Helper()
	tx := s.begin()
	outboxtest.Exec(s.t, tx, "LOCK TABLE outbox.outbox_batch IN EXCLUSIVE MODE")
	return tx
}

func (s *setup) publishIn(tx pgx.Tx, key string, n int) []string {
	s.t.Helper()
	ids, err := outbox.PublishTx(s.t.Context(), tx, events(key, n)...)
	if err != nil {
		s.t.Fatalf("stage: %v", err)
	}
	return ids
}

func (s *setup) commit(tx pgx.Tx) {
	s.t.Helper()
	if err := tx.Commit(s.t.Context()); err != nil {
		s.t.Fatalf("commit: %v", err)
	}
}

// awaitStream waits until the stream has n messages.
func (s *setup) awaitStream(n int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%d messages in the stream", n), func() bool { return s.count() >= n })
	if got := s.count(); got != n {
		s.t.Fatalf("%d messages in the stream, want %d", got, n)
	}
}

// position returns where each event is in the stream, counted from 0.
func (s *setup) position() map[string]int {
	s.t.Helper()
	at := map[string]int{}
	for i, id := range ids(s.inStream()) {
		at[id] = i
	}
	return at
}

// TestHotKeyKeepsItsOrderAndDelaysNobody stages 2,000 events of one key, whose lane moves
// between two pods, with events without a key in the same transactions.
func TestHotKeyKeepsItsOrderAndDelaysNobody(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.start()
	s.start()
	s.awaitLanes(8, 8)
	var hot, beside []string
	for range 40 {
		all := s.stageTogether(append(events("hot", 50), events("", 10)...)...)
		hot, beside = append(hot, all[:50]...), append(beside, all[50:]...)
	}
	s.awaitStream(2400)
	at := s.position()
	if !slices.IsSortedFunc(hot, func(a, b string) int { return at[a] - at[b] }) {
		t.Error("the events of the key are out of order")
	}
	late := 0
	for _, id := range beside {
		if at[id] > at[hot[len(hot)-1]] {
			late++
		}
	}
	// A sixteenth of them shares the lane, and some of these a batch.
	if late > len(beside)/16 {
		t.Errorf("%d of %d events without a key came after the last of the hot key", late, len(beside))
	}
}

// TestUnorderedEventsOfABatchDoNotWaitForItsHotKey looks into one batch of one lane.
func TestUnorderedEventsOfABatchDoNotWaitForItsHotKey(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	list := append(events("hot", 300), eventsBeside(s, "hot", 20)...)
	staged := s.stageTogether(list...)
	s.start(func(c *relayConfig) { c.Publisher = relay.PublisherAsync }) // a fast batch has the order of the log
	s.awaitStream(320)
	at := s.position()
	for _, id := range staged[300:] {
		if at[id] > 100 {
			t.Errorf("an event that was staged behind a hot key is at %d of the stream", at[id])
		}
	}
	if !slices.IsSortedFunc(staged[:300], func(a, b string) int { return at[a] - at[b] }) {
		t.Error("the events of the key are out of order")
	}
}

// TestCommitOrderDecidesNotTheAgeOfATransaction: the transaction that began first writes the
// key last, because it waited for the row that serialises the writers of the key.
func TestCommitOrderDecidesNotTheAgeOfATransaction(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running=%v", running), func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			if running {
				s.start()
			}
			s.exec("CREATE TABLE aggregate (id int PRIMARY KEY); INSERT INTO aggregate VALUES (1)")
			const lock = "SELECT FROM aggregate WHERE id = 1 FOR UPDATE"
			older, younger := s.begin(), s.begin()
			if _, err := younger.Exec(t.Context(), lock); err != nil {
				t.Fatal(err)
			}
			want := s.publishIn(younger, "k", 3)
			locked := make(chan error, 1)
			go func() {
				_, err := older.Exec(t.Context(), lock)
				locked <- err
			}()
			s.eventually("the older transaction waits for the row", func() bool {
				return query[bool](s, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')")
			})
			s.commit(younger)
			if err := <-locked; err != nil {
				t.Fatal(err)
			}
			want = append(want, s.publishIn(older, "k", 3)...)
			s.commit(older)
			if !running {
				s.start()
			}
			s.awaitStream(6)
			if diff := cmp.Diff(want, ids(s.inStream())); diff != "" {
				t.Errorf("order (-staged +stream):\n%s", diff)
			}
		})
	}
}

// TestLateCommitOfAnEarlySequenceIsNotMissed: the number was drawn first, the commit comes
// after later numbers were published, with a rolled-back number between them.
func TestLateCommitOfAnEarlySequenceIsNotMissed(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.start()
	early, rolledBack := s.begin(), s.begin()
	first := s.publishIn(early, "k1", 3)
	s.publishIn(rolledBack, "k2", 3)
	s.stage("k3", 3)
	s.awaitStream(3)
	if err := rolledBack.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.stage("k1", 0)
	s.commit(early)
	s.awaitStream(6)
	if diff := cmp.Diff(first, ids(s.inStream())[3:]); diff != "" {
		t.Errorf("the late events (-staged +stream):\n%s", diff)
	}
	s.wantLogInStream()
}

// TestLateCommitDuringABacklogIsNotMissed commits early numbers while the backlog that has
// later ones is paged.
func TestLateCommitDuringABacklogIsNotMissed(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	var late []pgx.Tx
	for range 8 {
		tx := s.begin()
		s.publishIn(tx, "", 20)
		late = append(late, tx)
	}
	for range 20 {
		s.stage("", 200)
	}
	s.start(func(c *relayConfig) { c.BatchSize = 10 })
	for i, tx := range late {
		s.eventually("the backlog is paged", func() bool { return s.count() >= 300*(i+1) })
		s.commit(tx)
	}
	s.wantLogInStream()
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d, each once", n, want)
	}
}

// TestConcurrentWritersWithRandomCommitDelays is 50 writers at once.
func TestConcurrentWritersWithRandomCommitDelays(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.start(func(c *relayConfig) { c.PollMin, c.PollMax = time.Millisecond, time.Millisecond; c.BatchSize = 5 })
	s.start(func(c *relayConfig) { c.PollMin, c.PollMax = time.Millisecond, time.Millisecond; c.BatchSize = 5 })
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var writers sync.WaitGroup
	for i := range 50 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			conn, err := pgx.Connect(t.Context(), s.db.URL)
			if err != nil {
				t.Errorf("connect: %v", err)
				return
			}
			defer conn.Close(context.Background()) //nolint:errcheck // ends with the test
			for range 10 {
				err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
					for range 1 + rng.IntN(3) {
						if _, err := outbox.PublishTx(t.Context(), tx, events("", 1)...); err != nil {
							return err
						}
						pause(t.Context(), time.Duration(rng.IntN(20))*time.Millisecond)
					}
					return nil
				})
				if err != nil {
					t.Errorf("stage: %v", err)
				}
			}
		})
	}
	writers.Wait()
	s.wantLogInStream()
}

// TestLongTransactionDelaysNobody holds a writing transaction open: what others commit does
// not wait for it.
func TestLongTransactionDelaysNobody(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.start()
	long := s.begin()
	mine := s.publishIn(long, "long", 5)
	latencies := make([]time.Duration, 100)
	for i := range latencies {
		start := time.Now()
		s.stage("", 1)
		s.eventually("the event arrives", func() bool { return s.count() == i+1 })
		latencies[i] = time.Since(start)
	}
	slices.Sort(latencies)
	t.Logf("latency with a transaction open: median %s, worst %s", latencies[50], latencies[99])
	s.commit(long)
	s.awaitStream(105)
	if diff := cmp.Diff(mine, ids(s.inStream())[100:]); diff != "" {
		t.Errorf("the events of the long transaction (-staged +stream):\n%s", diff)
	}
}

// TestPreparedTransactionIsPublishedWhenItCommits uses two-phase commit.
func TestPreparedTransactionIsPublishedWhenItCommits(t *testing.T) {
	t.Parallel()
	s, pg := newSetupIn(t, map[string]string{"max_prepared_transactions": "4"})
	s.start()
	s.exec("BEGIN; SELECT outbox.publish('/test', 'test.happened', id => 'prepared', partitionkey => 'p'); PREPARE TRANSACTION 'one'")
	s.exec("BEGIN; SELECT outbox.publish('/test', 'test.happened', id => 'rolled-back', partitionkey => 'p'); PREPARE TRANSACTION 'two'")
	s.stage("", 50)
	s.awaitStream(50)
	s.exec("ROLLBACK PREPARED 'two'")
	s.restart(pg, "immediate") // prepared transactions outlive it
	s.stage("", 50)
	s.awaitStream(100)
	s.exec("COMMIT PREPARED 'one'")
	s.awaitStream(101)
	if last := s.inStream()[100].ID(); last != "prepared" {
		t.Errorf("the last event is %s", last)
	}
	s.wantLogInStream()
}
