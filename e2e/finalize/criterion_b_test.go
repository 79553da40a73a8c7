package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// TestCriterionB: a retry after a lost answer gets the first answer, byte for byte, and writes nothing.
func TestCriterionB(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	first, retry := s.replica(), s.replica()
	// original takes the answer away from the client, and returns it.
	original := func(t *testing.T, how way) (uuid.UUID, string) {
		id := s.draft()
		ctx, cancel := context.WithCancel(t.Context())
		reached := first.gate.on(id, "finalize", 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			defer cancel()
			how(w, r, next)
		})
		if got, err := post(ctx, first.url, id, form()); err == nil {
			t.Fatalf("the answer was not lost: %s", got)
		}
		wait(s, "the request came", reached)
		var answer string
		s.until("it is filed and released", func() bool {
			return read[bool](s, s.intake, `SELECT coalesce((SELECT events_released FROM outbox.saga_operation WHERE operation_id = $1), false)`, id)
		})
		answer = read[string](s, s.intake, `SELECT result::text FROM outbox.saga_operation WHERE operation_id = $1`, id)
		s.wantFiled(id, 1)
		return id, answer
	}
	again := func(t *testing.T, id uuid.UUID, want string) {
		t.Helper()
		before, calls := s.snapshot(), len(s.gate.of(id))
		for _, r := range []*replica{first, retry} {
			if got := r.want(id, http.StatusOK); got.body != want {
				t.Errorf("answer is %s, the first one was %s", got.body, want)
			}
		}
		if diff := cmp.Diff(before, s.snapshot()); diff != "" {
			t.Errorf("a retry writes (-before +after):\n%s", diff)
		}
		if n := len(s.gate.of(id)); n != calls {
			t.Errorf("a retry makes %d calls", n-calls)
		}
	}
	t.Run("the connection was cut", func(t *testing.T) {
		id, want := original(t, lose)
		again(t, id, want)
	})
	t.Run("the client ran out of time", func(t *testing.T) {
		id, want := original(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(w, r) // into a connection that is cut
			panic(http.ErrAbortHandler)
		})
		again(t, id, want)
	})
	t.Run("the operation was pruned since", func(t *testing.T) {
		id, want := original(t, lose)
		s.exec(s.intake, `UPDATE outbox.saga_operation SET updated_at = updated_at - interval '31 days' WHERE operation_id = $1`, id)
		if report := first.tick(); report.Pruned != 1 {
			t.Fatalf("pruned %d", report.Pruned)
		}
		again(t, id, want)
	})
}
