package main

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// TestCriterionG: while a call is on its way, whichever, another connection takes the draft and the
// operation at once; the intake has no transaction open, and none of its connections is in use.
func TestCriterionG(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.replica()
	id := s.draft()
	var seen []string
	look := func(name string) way {
		return func(w http.ResponseWriter, q *http.Request, next http.Handler) {
			seen = append(seen, name)
			s.wantNothingHeld(r, id, name)
			next.ServeHTTP(w, q)
			s.wantNothingHeld(r, id, name+", answered")
		}
	}
	calls := slices.Concat([]string{"register"}, steps, []string{"release"})
	for _, name := range calls {
		s.gate.on(id, name, 1, look(name))
	}
	r.want(id, http.StatusOK)
	if !slices.Equal(seen, calls) {
		t.Errorf("looked during %v, want %v", seen, calls)
	}
	s.wantFiled(id, 1)

	seen = nil
	id = s.abandoned(r, "income:0")
	s.gate.on(id, "cancel", 1, look("cancel"))
	s.age(id, "2 h")
	r.tick()
	if !slices.Equal(seen, []string{"cancel"}) {
		t.Errorf("looked during %v", seen)
	}
	s.wantUndone(id, 1)
}

func (s *stack) wantNothingHeld(r *replica, id uuid.UUID, during string) {
	for _, sql := range []string{
		`SELECT FROM draft WHERE id = $1 FOR UPDATE NOWAIT`,
		`SELECT FROM outbox.saga_operation WHERE operation_id = $1 FOR UPDATE NOWAIT`,
	} {
		if _, err := s.intake.Pool.Exec(s.t.Context(), sql, id); err != nil {
			s.t.Errorf("%s: %s: %v", during, sql, err)
		}
	}
	s.until("no connection is in use", func() bool { return r.pool.Stat().AcquiredConns() == 0 })
	const open = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()`
	s.until("no transaction is open", func() bool { return read[int](s, s.intake, open) == 0 })
}
