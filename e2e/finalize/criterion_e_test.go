package main

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

// TestCriterionE: what is stuck can be seen and mended, and does not stand in the way of others.
func TestCriterionE(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	r := s.replica()
	t.Run("a registry that is not where it was", func(t *testing.T) { s.stuckAndMended(t, r) })
	t.Run("a registry that is down for a while", func(t *testing.T) { s.putOffAndAborted(t, r) })
	t.Run("release is repeated until it is confirmed", func(t *testing.T) { s.releasedAtLast(t, r) })
	t.Run("an order to abort", func(t *testing.T) {
		id := s.abandoned(r, "income:1")
		if state, changed, err := r.Store().Abort(t.Context(), s.intake.Pool, id, "alice", "asked by the applicant"); err != nil || !changed || state != saga.StateCompensating {
			t.Fatalf("abort: %s %v %v", state, changed, err)
		}
		r.want(id, http.StatusServiceUnavailable)
		s.free()
		r.tick()
		s.wantUndone(id, 1)
	})
	t.Run("what has ended is left alone", func(t *testing.T) {
		before := s.gate.total()
		s.exec(s.intake, `UPDATE outbox.saga_operation SET next_attempt_at = '-infinity'`)
		s.free()
		if report := r.tick(); !report.Led || report.Aborted+report.Released+report.PutOff+report.Stuck != 0 {
			t.Errorf("report is %+v", report)
		}
		if after := s.gate.total(); after != before {
			t.Errorf("%d calls about what has ended", after-before)
		}
	})
	s.settle()
}

// abandoned makes an operation whose client went away at a step.
func (s *stack) abandoned(r *replica, step string) uuid.UUID {
	s.t.Helper()
	id := s.draft()
	s.gate.on(id, step, 1, lose)
	r.want(id, http.StatusServiceUnavailable)
	return id
}

// failingTick ticks, and wants it to tell an error.
func (r *replica) failingTick() *saga.Report {
	r.s.t.Helper()
	r.s.free()
	report, err := r.Coordinator().Tick(r.s.t.Context())
	if err == nil {
		r.s.t.Error("the tick tells no error")
	}
	return report
}

// stuckAndMended: what cannot be repeated is for a person, who sees it, mends it and orders a retry.
func (s *stack) stuckAndMended(t *testing.T, r *replica) {
	id, good := s.abandoned(r, "person:1"), s.abandoned(r, "member:0")
	moved := s.gate.on(id, "cancel", 1, refuse(http.StatusNotFound))
	s.age(id, "2 h")
	s.age(good, "2 h")
	report := r.failingTick()
	wait(s, "cancel came", moved)
	if report.Stuck != 1 || report.Aborted != 1 || report.Waiting.Stuck != 1 {
		t.Errorf("report is %+v", report)
	}
	s.wantUndone(good, 1)
	s.wantState(id, 1, saga.StateStuck)
	if got := r.want(id, http.StatusServiceUnavailable); got.header.Get("Retry-After") != "" {
		t.Errorf("Retry-After is %q, and nobody knows", got.header.Get("Retry-After"))
	}
	listed, err := r.Store().List(t.Context(), s.intake.Pool, saga.Filter{States: []saga.State{saga.StateStuck}})
	if err != nil || len(listed) != 1 || listed[0].ID != id || !slices.Equal(listed[0].Participants, []string{"registry"}) {
		t.Errorf("listed %+v, %v", listed, err)
	}
	_, made, acts, err := r.Store().Show(t.Context(), s.intake.Pool, id)
	if err != nil || len(made) != 3 || acts[len(acts)-1].Action != "give_up" {
		t.Errorf("shown %+v %+v, %v", made, acts, err)
	}
	if found, err := hold.State(t.Context(), s.registry.Pool, outbox.Hold{Operation: id, Generation: 1}); err != nil || found.State != hold.Active || found.Held != 6 {
		t.Errorf("the registry says %+v, %v", found, err)
	}
	if _, changed, err := r.Store().Retry(t.Context(), s.intake.Pool, id, "alice", "the address is right again"); err != nil || !changed {
		t.Fatalf("retry: %v %v", changed, err)
	}
	s.free()
	r.tick()
	s.wantState(id, 1, saga.StateAborted)
	s.wantUndone(id, 1)
}

// putOffAndAborted: failures are counted, the pause grows, and the cancel is resumed.
func (s *stack) putOffAndAborted(t *testing.T, r *replica) {
	id := s.abandoned(r, "asset:0")
	for n := 1; n <= 3; n++ {
		s.age(id, "2 h")
		s.gate.on(id, "cancel", 4, refuse(http.StatusServiceUnavailable))
		if report := r.failingTick(); report.PutOff != 1 {
			t.Errorf("report is %+v", report)
		}
		s.wantState(id, 1, saga.StateCompensating)
		if got := read[int](s, s.intake, `SELECT attempts FROM outbox.saga_operation WHERE operation_id = $1`, id); got != n {
			t.Errorf("%d attempts, want %d", got, n)
		}
		if got := r.want(id, http.StatusServiceUnavailable); got.header.Get("Retry-After") != "15" {
			t.Errorf("Retry-After is %q, want the period of the reconciler", got.header.Get("Retry-After"))
		}
	}
	s.age(id, "2 h")
	s.gate.on(id, "cancel", 1, lose) // and then its answer is lost: the client repeats it
	s.free()
	r.tick()
	s.wantState(id, 1, saga.StateAborted)
	s.wantUndone(id, 1)
}

// releasedAtLast: the client has its answer, and the events leave later, once.
func (s *stack) releasedAtLast(t *testing.T, r *replica) {
	id := s.draft()
	s.gate.on(id, "release", 4, refuse(http.StatusServiceUnavailable))
	r.want(id, http.StatusOK)
	s.wantState(id, 1, saga.StateCompleted)
	if g := s.graphOf(id, 1); g.Held != eventsOf(steps) || g.Free != 0 {
		t.Errorf("there is %+v", g)
	}
	for _, failure := range []way{refuse(http.StatusForbidden), refuse(http.StatusConflict), lose, refuse(http.StatusServiceUnavailable)} {
		s.age(id, "0")
		s.gate.on(id, "release", 4, failure)
		if report := r.failingTick(); report.Waiting.Unreleased != 1 || report.Waiting.OldestUnreleased <= 0 {
			t.Errorf("report is %+v", report)
		}
		r.want(id, http.StatusOK)
		s.gate.forget(id)
	}
	listed, err := r.Store().List(t.Context(), s.intake.Pool, saga.Filter{Unreleased: true})
	if err != nil || len(listed) != 1 || listed[0].ID != id || time.Since(listed[0].UpdatedAt) < 0 {
		t.Errorf("listed %+v, %v", listed, err)
	}
	s.exec(s.intake, `UPDATE outbox.saga_operation SET updated_at = updated_at - interval '1 year' WHERE operation_id = $1`, id)
	s.age(id, "0")
	s.free()
	if report := r.tick(); report.Released != 1 {
		t.Errorf("report is %+v", report)
	}
	s.wantFiled(id, 1)
}
