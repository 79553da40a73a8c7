package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestCriterionC: failure after each step is recoverable by a retry, or is undone by compensation.
func TestCriterionC(t *testing.T) {
	t.Parallel()
	t.Run("retry", func(t *testing.T) {
		t.Parallel()
		s := newStack(t).listen()
		for i, step := range steps {
			t.Run(step, func(t *testing.T) { s.retryAfter(t, i) })
		}
		s.settle()
	})
	t.Run("compensation", func(t *testing.T) {
		t.Parallel()
		s := newStack(t).listen()
		for i, step := range steps {
			t.Run(step, func(t *testing.T) { s.compensateAfter(t, i) })
		}
		s.settle()
	})
}

// retryAfter has a step succeed and its answer be lost. The retry, of a fresh process, calls that step
// again and the later ones, and no earlier one; each body is the same.
func (s *stack) retryAfter(t *testing.T, failing int) {
	id := s.draft()
	s.gate.on(id, steps[failing], 1, lose)
	s.replica().want(id, http.StatusServiceUnavailable)
	if g := s.graphOf(id, 1); !slices.Equal(g.Steps, steps[:failing+1]) || g.Held != eventsOf(g.Steps) || g.Free != 0 {
		t.Errorf("after the failure there is %+v", g)
	}
	s.wantNoApplication(id)
	s.replica().want(id, http.StatusOK)
	for i, step := range steps {
		want := 1
		if i == failing {
			want = 2
		}
		if n := s.gate.count(id, step); n != want {
			t.Errorf("%s was called %d times, want %d", step, n, want)
		}
	}
	s.wantSameBodies(id)
	s.wantFiled(id, 1)
}

// wantSameBodies compares what was sent for a step more than once.
func (s *stack) wantSameBodies(id uuid.UUID) {
	s.t.Helper()
	bodies := map[string]string{}
	for _, v := range s.gate.of(id) {
		if v.header.Get("Holdfast-Step") == "" {
			continue
		}
		key := v.header.Get("Holdfast-Generation") + " " + v.name
		if before, sent := bodies[key]; sent && before != v.body {
			s.t.Errorf("%s was sent as %s and as %s", key, before, v.body)
		}
		bodies[key] = v.body
	}
}

// compensateAfter has the client go away after a step. When the grace is over everything is undone, and
// the draft can be finalized anew.
func (s *stack) compensateAfter(t *testing.T, failing int) {
	id, r := s.draft(), s.replica()
	s.gate.on(id, steps[failing], 1, lose)
	r.want(id, http.StatusServiceUnavailable)
	s.age(id, "59 min")
	s.free()
	r.tick()
	s.wantState(id, 1, "in_progress")
	s.age(id, "61 min")
	r.tick()
	s.wantState(id, 1, "aborted")
	s.wantUndone(id, 1)
	s.wantNoApplication(id)
	if g := s.graphOf(id, 1); len(g.Steps) != failing+1 {
		t.Errorf("undone is %+v", g)
	}
	s.replica().want(id, http.StatusOK)
	s.wantFiled(id, 2)
}

// TestPinnedBasis: the date and the time of reception are those of the claim, in every body and in the
// application, whenever the rest is done.
func TestPinnedBasis(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	id := s.draft()
	s.gate.on(id, "person:0", 1, lose)
	s.replica().want(id, http.StatusServiceUnavailable)
	s.exec(s.intake, `UPDATE outbox.saga_operation SET basis = '{"today": "2001-02-03", "received_at": "2001-02-03T23:59:59.5Z"}' WHERE operation_id = $1`, id)
	s.replica().want(id, http.StatusOK)
	const filed = `SELECT filed_on = '2001-02-03' AND received_at = '2001-02-03T23:59:59.5Z' FROM application WHERE id = $1`
	if !read[bool](s, s.intake, filed, id) {
		t.Error("the application has another date than the operation")
	}
	dated := 0
	for _, v := range s.gate.of(id) {
		if strings.Contains(v.body, `:"2001-02-03"`) {
			dated++
		}
	}
	if dated != 6 { // the household, two memberships, two incomes and an asset
		t.Errorf("%d bodies have the pinned date", dated)
	}
	s.wantFiled(id, 1)
}
