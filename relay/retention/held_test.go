package retention_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// heldRow is what identifies a held event, and where it stands among the others.
type heldRow struct {
	ID, Operation string
	Generation    int
	Lane          int16
	Seq           int64
	Key           string
	Data          string
}

func (s *setup) heldRows() []heldRow {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.t.Context(), `SELECT event_id, hold_operation_id::text, hold_generation, lane, seq, partition_key, convert_from(data, 'UTF8')
		FROM outbox.event_outbox WHERE tx IS NULL ORDER BY seq`)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[heldRow])
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// TestHeldEventsMoveAndKeepTheirIdentity moves more events than one batch takes, of several
// operations, and then decides about them.
func TestHeldEventsMoveAndKeepTheirIdentity(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	released, cancelled := s.register(), s.register()
	s.hold(released, 700)
	s.hold(cancelled, 600)
	s.exec("UPDATE outbox.event_outbox SET slot = $1, staged_at = clock_timestamp() - interval '3 days' WHERE tx IS NULL", slot)
	s.fill(slot, 30, 3)
	s.settle()
	before := s.heldRows()

	r := s.pass()
	if r.Moved != 1300 {
		t.Fatalf("moved %d, emptied %+v, refused %+v, %d left", r.Moved, r.Emptied, r.Refused, s.in(slot))
	}
	if len(r.Emptied) == 0 {
		s.empties(slot) // a vacuum was in it
	}
	if diff := cmp.Diff(before, s.heldRows()); diff != "" {
		t.Fatalf("the held events changed:\n%s", diff)
	}

	s.exec("SELECT outbox.hold_cancel($1, 1, 'test')", cancelled)
	s.exec("SELECT outbox.hold_release($1, 1, 'test')", released)
	var order []string
	rows, err := s.db.Pool.Query(t.Context(), "SELECT event_id FROM outbox.event_outbox WHERE tx IS NOT NULL ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	if order, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 700 {
		want = append(want, fmt.Sprintf("%s-%06d", released, i+1))
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("the released events are not in staging order:\n%s", diff)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.event_outbox WHERE hold_operation_id = $1::text::uuid AND hold_generation = 1", released); n != 700 {
		t.Errorf("%d released events know their operation", n)
	}
}

// TestDecisionsBesideMoves releases and cancels while their events are moved to and fro. Neither
// may fail, and each event ends exactly as it was decided.
func TestDecisionsBesideMoves(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const operations, each = 40, 30
	var names []string
	for range operations {
		op := s.register()
		s.hold(op, each)
		names = append(names, op)
	}
	token := s.claim("pod-a", hour)
	done := make(chan struct{})
	var movers sync.WaitGroup
	movers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			// Whatever is held now lies in an old slot, as far as the mover is concerned.
			slot := s.old()
			s.exec(`WITH gate AS MATERIALIZED (SELECT operation_id, generation FROM outbox.hold_generation FOR SHARE SKIP LOCKED)
				UPDATE outbox.event_outbox e SET slot = $1, staged_at = clock_timestamp() - interval '3 days'
				  FROM gate g WHERE e.hold_operation_id = g.operation_id AND e.hold_generation = g.generation AND e.tx IS NULL`, slot)
			for {
				if outcome, _ := s.rotate(token, slot); outcome != "moved" {
					break
				}
			}
		}
	})
	for i, op := range names {
		decision := "hold_release"
		if i%2 == 1 {
			decision = "hold_cancel"
		}
		if _, err := s.db.Pool.Exec(t.Context(), "SELECT outbox."+decision+"($1, 1, 'test')", op); err != nil {
			t.Errorf("%s beside a move: %v", decision, err)
		}
	}
	close(done)
	movers.Wait()
	if n := query[int](s, "SELECT count(*) FROM outbox.event_outbox WHERE tx IS NULL"); n != 0 {
		t.Errorf("%d events are still held", n)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.event_outbox"); n != operations/2*each {
		t.Errorf("%d events were released, want %d", n, operations/2*each)
	}
	if n := query[int](s, "SELECT sum(released_count + dropped_count) FROM outbox.hold_generation"); n != operations*each {
		t.Errorf("the decisions found %d events, want %d", n, operations*each)
	}
}
