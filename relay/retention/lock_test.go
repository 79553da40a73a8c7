package retention_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// TestTrafficNeverQueuesBehindARotation: while a reader keeps a slot open for the whole test,
// rotations come and give up, and whoever reads and writes the slot goes on. If a rotation waited, all
// of these would queue behind it until they fail.
func TestTrafficNeverQueuesBehindARotation(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	s.fill(slot, 100, 3)
	s.settle()
	reader := s.begin()
	outboxtest.One[int](t, reader, "SELECT count(*) FROM outbox.event_outbox WHERE slot = $1", slot)

	const writers, each = 3, 60
	traffic, stop := context.WithCancel(t.Context())
	defer stop()
	var keepers, all sync.WaitGroup
	var settling sync.Mutex // of all lanes in one statement, which two must not do at once
	busy := 0
	keepers.Go(func() {
		for traffic.Err() == nil {
			// Not cut, so that the lease is not left behind.
			r, err := s.k.Pass(t.Context())
			if err != nil {
				t.Errorf("pass: %v", err)
				return
			}
			for _, step := range r.Refused {
				if step.Outcome == retention.Busy {
					busy++
				}
			}
		}
	})
	pool := s.pool(s.db.URL + "&lock_timeout=20s")
	for range writers {
		all.Go(func() {
			for range each {
				if _, err := pool.Exec(t.Context(), fillSQL, slot, 1, 3.0); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				// Drained at once, so that the next rotation goes for the lock.
				settling.Lock()
				_, err := pool.Exec(t.Context(), "UPDATE outbox.outbox_lane SET drained = pg_current_snapshot()")
				settling.Unlock()
				if err != nil {
					t.Errorf("settle: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	s.settle()
	eventually(t, "rotations were refused", func() bool {
		return query[bool](s, "SELECT coalesce(refused_why LIKE '%was not to be had: process % has used it since %', false) FROM outbox.outbox_maintenance")
	})
	stop()
	keepers.Wait()
	if busy == 0 {
		t.Error("no rotation came as far as the lock")
	}
	if n := s.in(slot); n != 100+writers*each {
		t.Errorf("%d events, want %d", n, 100+writers*each)
	}
	if err := reader.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.settle()
	s.empties(slot)
}

// TestALongProducerKeepsItsSlot: its transaction spans a rotation, so that the slot into which it wrote
// is emptied only after its events were drained.
func TestALongProducerKeepsItsSlot(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"it wrote before the rotation was decided", "it had not written yet"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			slot := s.old()
			s.fill(slot, 10, 3)
			s.settle()
			producer := s.begin()
			xid := outboxtest.One[int64](t, producer, "SELECT pg_current_xact_id()::text::bigint")
			if when == "it had not written yet" {
				s.settle() // its id is handed out, and running
				s.empties(slot)
				outboxtest.Exec(t, producer, fillSQL, slot, 3, 3.0)
			} else {
				outboxtest.Exec(t, producer, fillSQL, slot, 3, 3.0)
				s.keeps(slot, retention.Busy)
			}
			if err := producer.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.keeps(slot, retention.Undrained)
			if n := query[int](s, "SELECT count(*) FROM outbox.event_outbox WHERE tx = $1::bigint::text::xid8", xid); n != 3 {
				t.Errorf("%d of its events are there, want 3", n)
			}
			s.settle()
			s.empties(slot)
		})
	}
}

// TestAProducerThatRollsBackLeavesNothing that would keep the slot.
func TestAProducerThatRollsBackLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	s.fill(slot, 10, 3)
	s.settle()
	err := pgx.BeginFunc(t.Context(), s.db.Pool, func(tx pgx.Tx) error {
		outboxtest.Exec(t, tx, fillSQL, slot, 3, 3.0)
		s.keeps(slot, retention.Busy)
		return errRollback
	})
	if err != errRollback {
		t.Fatal(err)
	}
	s.empties(slot)
}
