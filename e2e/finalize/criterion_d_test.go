package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/uuid"
)

// TestCriterionD: reaping cannot race a live operation, whoever is first.
func TestCriterionD(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	r := s.replica()
	reap := func(t *testing.T, want int64) {
		t.Helper()
		if n, err := r.Reap(t.Context()); err != nil || n != want {
			t.Errorf("reaped %d, %v; want %d", n, err, want)
		}
	}
	expire := func(id uuid.UUID) {
		s.exec(s.intake, `UPDATE draft SET expires_at = clock_timestamp() - interval '1 s' WHERE id = $1`, id)
	}
	t.Run("reaper first", func(t *testing.T) { s.reaperFirst(t, r) })
	t.Run("claim first", func(t *testing.T) { s.claimFirst(t, r) })
	t.Run("operation in progress", func(t *testing.T) {
		id := s.draft()
		open := make(chan struct{})
		reached := s.gate.on(id, "person:1", 1, stall(open))
		client := async(func() answer { return r.finalize(id) })
		wait(s, "it calls", reached)
		expire(id)
		reap(t, 0)
		s.age(id, "2 h") // also one whose lease is over
		reap(t, 0)
		close(open)
		// The commit finds an expired draft: nothing is filed, and what was made is undone.
		if got := wait(s, "the client is told", client); got.status != http.StatusNotFound {
			t.Errorf("answer is %s", got)
		}
		s.wantNoApplication(id)
		s.age(id, "2 h")
		reap(t, 0)
		r.tick()
		s.wantUndone(id, 1)
		reap(t, 1)
		r.want(id, http.StatusNotFound)
	})
	t.Run("operation being undone, or stuck", func(t *testing.T) {
		for _, refusal := range []int{http.StatusInternalServerError, http.StatusNotFound} {
			id := s.draft()
			s.gate.on(id, "household", 1, refuse(http.StatusInternalServerError))
			r.want(id, http.StatusServiceUnavailable)
			expire(id)
			s.age(id, "2 h")
			s.gate.on(id, "cancel", 4, refuse(refusal))
			s.free()
			if _, err := r.Coordinator().Tick(t.Context()); err == nil {
				t.Error("the refusal is not told")
			}
			reap(t, 0)
			s.exec(s.intake, `DELETE FROM outbox.saga_operation WHERE operation_id = $1`, id)
			reap(t, 1)
		}
	})
	t.Run("aborted: at its own time", func(t *testing.T) {
		id := s.draft()
		s.gate.on(id, "household", 1, refuse(http.StatusInternalServerError))
		r.want(id, http.StatusServiceUnavailable)
		s.age(id, "2 h")
		s.free()
		r.tick()
		s.wantState(id, 1, "aborted")
		reap(t, 0)
		expire(id)
		reap(t, 1)
	})
	s.settle()
}

// reaperFirst has the reaper hold the draft and delete it while a claim waits for it.
func (s *stack) reaperFirst(t *testing.T, r *replica) {
	id := s.draft()
	reaper, err := s.intake.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reaper.Rollback(t.Context())
	if _, err := reaper.Exec(t.Context(), `DELETE FROM draft WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	client := async(func() answer { return r.finalize(id) })
	s.until("the claim waits", func() bool {
		return read[int](s, s.intake, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
	})
	if err := reaper.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := wait(s, "the client is told", client); got.status != http.StatusNotFound {
		t.Errorf("answer is %s", got)
	}
	if n := len(s.gate.of(id)); n != 0 {
		t.Errorf("%d calls for a draft that was reaped", n)
	}
}

// claimFirst has a claim hold the draft while the reaper comes: it waits for nobody, and when it comes
// again it finds the operation. The reaper judges after its lock: here the claim commits between the two.
func (s *stack) claimFirst(t *testing.T, r *replica) {
	id := s.draft()
	claim, err := s.intake.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Rollback(t.Context())
	if _, err := claim.Exec(t.Context(), `SELECT FROM draft WHERE id = $1 FOR UPDATE`, id); err != nil {
		t.Fatal(err)
	}
	if _, err := claim.Exec(t.Context(), `INSERT INTO outbox.saga_operation
		(operation_id, kind, lease_holder, lease_expires_at, basis, request_digest, digest_key_id, participants)
		VALUES ($1, 'draft.finalize', gen_random_uuid(), clock_timestamp() + interval '30 s', '{}', sha256('x'), 'k1', '{registry}')`, id); err != nil {
		t.Fatal(err)
	}
	// Another connection cannot have expired it, so it is expired by this one.
	if _, err := claim.Exec(t.Context(), `UPDATE draft SET expires_at = clock_timestamp() - interval '1 s' WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	for _, after := range []func(context.Context) error{nil, claim.Commit} {
		if after != nil {
			if err := after(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := r.Reap(t.Context()); err != nil || n != 0 {
			t.Errorf("reaped %d, %v", n, err)
		}
	}
	if n := read[int](s, s.intake, `SELECT count(*) FROM draft WHERE id = $1`, id); n != 1 {
		t.Error("the draft of a live operation is gone")
	}
}
