package retention_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// TestOnePodAtATime lets many pods make passes at once: each slot is emptied by one of them.
func TestOnePodAtATime(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	const pods, rounds = 4, 5
	var keepers []*retention.Keeper
	for range pods {
		keepers = append(keepers, s.keeper("pod"))
	}
	for range rounds {
		s.fill(slot, 20, 3)
		s.settle()
		eventually(t, "a pod emptied the slot", func() bool {
			var emptied atomic.Int32
			var all sync.WaitGroup
			for _, k := range keepers {
				all.Go(func() {
					r, err := k.Pass(t.Context())
					if err != nil {
						t.Errorf("pass: %v", err)
						return
					}
					emptied.Add(int32(len(r.Emptied)))
				})
			}
			all.Wait()
			if emptied.Load() > 1 {
				t.Fatalf("emptied %d times", emptied.Load())
			}
			return emptied.Load() == 1 && s.in(slot) == 0
		})
	}
}

// TestALeaseOfAnotherPodIsRespected, and taken over when it has ended.
func TestALeaseOfAnotherPodIsRespected(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	s.fill(slot, 20, 3)
	s.settle()
	s.claim("pod-b", hour)
	if r := s.pass(); !r.Taken || len(r.Emptied) != 0 || r.State.Owner != "pod-b" {
		t.Fatalf("report %+v, owner %q", r, r.State.Owner)
	}
	s.exec("UPDATE outbox.outbox_maintenance SET lease_until = clock_timestamp() - interval '1 second'")
	s.empties(slot)
	if owner := query[*string](s, "SELECT lease_owner FROM outbox.outbox_maintenance"); owner != nil {
		t.Errorf("the lease was left with %s", *owner)
	}
}

// TestAPodThatLostItsLeaseChangesNothing: with an ended lease, with one that was taken over, and with
// none.
func TestAPodThatLostItsLeaseChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	s.fill(slot, 20, 3)
	s.settle()
	s.exec("INSERT INTO outbox.outbox_batch (relay_group, lane, events, seq_first, seq_last, stream, stream_seq_first, stream_seq_last, settled_at) SELECT 'default', 0, 1, i, i, 'S', i, i, clock_timestamp() - interval '90 days' FROM generate_series(1, 5) AS i")
	first := s.claim("pod-b", hour)
	s.exec("UPDATE outbox.outbox_maintenance SET lease_until = clock_timestamp() - interval '1 second'")
	for _, when := range []string{"the lease ended", "it was taken over"} {
		if outcome, _ := s.rotate(first, slot); outcome != "lost" {
			t.Errorf("%s: outcome %s", when, outcome)
		}
		if n := query[int](s, "SELECT batches FROM outbox.retention_prune($1::text::uuid, interval '1 day', interval '1 day')", first); n != -1 {
			t.Errorf("%s: pruned %d", when, n)
		}
		if when == "the lease ended" {
			s.claim("pod-c", hour)
		}
	}
	if outcome := query[string](s, "SELECT outcome FROM outbox.retention_rotate(NULL, $1)", slot); outcome != "lost" {
		t.Errorf("without a lease: outcome %s", outcome)
	}
	if n := s.in(slot) + query[int](s, "SELECT count(*) FROM outbox.outbox_batch"); n != 25 {
		t.Errorf("%d rows are left, want 25", n)
	}
}

// TestMaintenanceKilledInTheMiddle cuts a keeper's connection at each of its steps, and its lease
// ends. Nothing is left behind, and the next pod does all that is left.
func TestMaintenanceKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	s.hold(s.register(), 1200)
	s.exec("UPDATE outbox.event_outbox SET slot = $1, staged_at = clock_timestamp() - interval '3 days'", slot)
	s.fill(slot, 20, 3)
	s.settle()
	relations := func() int { return query[int](s, "SELECT count(*) FROM pg_class") }
	before := relations()

	// One that holds the lease and the lock, has emptied the slot, and dies before its commit.
	token := s.claim("pod-b", hour)
	for {
		outcome, why := s.rotate(token, slot)
		if outcome == "moved" {
			// Killed between two batches: what was moved stays moved.
			break
		}
		t.Fatalf("outcome %s %s", outcome, why)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.event_outbox WHERE tx IS NULL"); n != 1200 {
		t.Fatalf("%d held events", n)
	}
	if left := query[int](s, "SELECT count(*) FROM outbox.event_outbox WHERE tx IS NULL AND slot = $1", slot); left != 700 {
		t.Fatalf("%d held events are left in the slot, want 700", left)
	}
	for s.in(slot) > 20 {
		s.rotate(token, slot)
	}
	conn, err := pgx.Connect(t.Context(), s.db.URL)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the slot is not in use", func() bool {
		outcome := outboxtest.One[string](t, tx, "SELECT outcome FROM outbox.retention_rotate($1::text::uuid, $2)", token, slot)
		if outcome != "emptied" && outcome != "busy" {
			t.Fatalf("outcome %s", outcome)
		}
		return outcome == "emptied"
	})
	s.exec("SELECT pg_terminate_backend($1)", int(conn.PgConn().PID()))
	eventually(t, "the backend is gone", func() bool {
		return query[bool](s, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", int(conn.PgConn().PID()))
	})
	_ = conn.Close(context.Background()) // it is dead

	if n := s.in(slot); n != 20 {
		t.Fatalf("%d events are in the slot after the rollback, want 20", n)
	}
	s.exec("UPDATE outbox.outbox_maintenance SET lease_until = clock_timestamp() - interval '1 second'")
	s.empties(slot)
	if n := relations(); n != before {
		t.Errorf("%d relations, %d before", n, before)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.event_outbox WHERE tx IS NULL"); n != 1200 {
		t.Errorf("%d held events are left, want 1200", n)
	}
}
