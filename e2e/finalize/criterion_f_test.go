package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/wire"
)

// TestCriterionF: every remote write carries the identity of its step, and can be repeated.
func TestCriterionF(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	r := s.replica()
	id := s.draft()
	paused := make(chan struct{})
	before := s.gate.on(id, "release", 1, stall(paused))
	client := async(func() answer { return r.finalize(id) })
	wait(s, "it releases", before)

	t.Run("each step has its own", func(t *testing.T) {
		var got []string
		for _, v := range s.gate.of(id) {
			if strings.HasPrefix(v.path, wire.Prefix) {
				continue
			}
			if v.header.Get(wire.OperationHeader) != id.String() || v.header.Get(wire.GenerationHeader) != "1" {
				t.Errorf("%s has the headers %v", v.path, v.header)
			}
			got = append(got, v.header.Get(wire.StepHeader))
		}
		if !slices.Equal(got, steps) {
			t.Errorf("steps are %v, want %v", got, steps)
		}
	})
	t.Run("repeated while it is active", func(t *testing.T) { s.repeatSteps(t, id, http.StatusOK) })
	t.Run("another body", func(t *testing.T) { s.otherBody(t, id) })
	t.Run("another entity than the step's", func(t *testing.T) {
		v := s.gate.of(id)[1]
		got := s.call(http.MethodPost, "/v1/households", v.body, wire.OperationHeader, id.String(), wire.GenerationHeader, "1", wire.StepHeader, "person:7")
		if got.status != http.StatusBadRequest {
			t.Errorf("answer is %s", got)
		}
		got = s.call(http.MethodPost, v.path, v.body, wire.OperationHeader, id.String(), wire.StepHeader, "person:7")
		if got.status != http.StatusBadRequest {
			t.Errorf("without a generation: %s", got)
		}
	})
	t.Run("every event of a path is held", func(t *testing.T) {
		for _, kind := range []string{"person.registered", "person.described", "household.opened", "membership.begun", "income.reported", "asset.reported"} {
			const all = `SELECT count(*) || ' ' || count(*) FILTER (WHERE tx IS NULL) FROM outbox.event_outbox WHERE hold_operation_id = $1 AND type = $2`
			want := map[string]string{"household.opened": "1 1", "asset.reported": "1 1"}[kind]
			if want == "" {
				want = "2 2"
			}
			if got := read[string](s, s.registry, all, id, kind); got != want {
				t.Errorf("%s: staged and held are %s, want %s", kind, got, want)
			}
		}
	})
	close(paused)
	if got := wait(s, "the client is told", client); got.status != http.StatusOK {
		t.Fatalf("answer is %s", got)
	}
	t.Run("repeated when it is released", func(t *testing.T) { s.repeatSteps(t, id, http.StatusConflict) })
	t.Run("control calls", func(t *testing.T) { s.repeatControl(t, r, id) })
	t.Run("without an identity it is an ordinary write", func(t *testing.T) {
		got := s.call(http.MethodPost, "/v1/persons", `{"data":{"name":"SECRET-Cy"}}`)
		if got.status != http.StatusOK {
			t.Fatalf("answer is %s", got)
		}
		if n := read[int](s, s.registry, `SELECT count(*) FROM outbox.event_outbox WHERE hold_operation_id IS NULL AND tx IS NOT NULL`); n != 2 {
			t.Errorf("%d events that are not held", n)
		}
	})
	s.wantFiled(id, 1)
	s.settle()
}

// repeatSteps sends every write of an operation again, as it was. It gets the answer of the first time, or
// a refusal, and nothing is written.
func (s *stack) repeatSteps(t *testing.T, id uuid.UUID, status int) {
	before := s.snapshotOf("entity", "fact", "outbox.hold_receipt")
	for _, v := range s.gate.of(id) {
		if v.header.Get(wire.StepHeader) == "" || v.status != http.StatusOK {
			continue
		}
		got := s.call(v.method, v.path, v.body, wire.OperationHeader, id.String(), wire.GenerationHeader, "1", wire.StepHeader, v.name)
		if got.status != status || status == http.StatusOK && got.body != v.answer {
			t.Errorf("%s again: %s, want %d %s", v.name, got, status, v.answer)
		}
	}
	if diff := cmp.Diff(before, s.snapshotOf("entity", "fact", "outbox.hold_receipt")); diff != "" {
		t.Errorf("a repeated call writes (-before +after):\n%s", diff)
	}
}

// snapshotOf returns a digest of the rows of tables of the registry.
func (s *stack) snapshotOf(tables ...string) (digests []string) {
	s.t.Helper()
	for _, table := range tables {
		digests = append(digests, digestOf(s, s.registry, table))
	}
	return digests
}

func (s *stack) otherBody(t *testing.T, id uuid.UUID) {
	for _, v := range s.gate.of(id) {
		if v.header.Get(wire.StepHeader) == "" || v.status != http.StatusOK {
			continue
		}
		got := s.call(v.method, v.path, v.body+" ", wire.OperationHeader, id.String(), wire.GenerationHeader, "1", wire.StepHeader, v.name)
		if got.status != http.StatusConflict || !strings.Contains(got.body, string(wire.StepConflict)) {
			t.Errorf("%s with another body: %s", v.name, got)
		}
	}
}

// repeatControl: register, release and get get their answer again; cancel learns that it comes too late. A
// cancelled generation of another operation the other way round.
func (s *stack) repeatControl(t *testing.T, r *replica, released uuid.UUID) {
	cancelled := s.abandoned(r, "member:1")
	s.age(cancelled, "2 h")
	s.free()
	r.tick()
	for id, want := range map[uuid.UUID]map[string]int{
		released:  {"register": http.StatusOK, "release": http.StatusOK, "cancel": http.StatusConflict},
		cancelled: {"register": http.StatusOK, "release": http.StatusConflict, "cancel": http.StatusOK},
	} {
		before := s.snapshot()
		for verb, status := range want {
			for range 2 {
				if got := s.call(http.MethodPost, wire.OperationPath(id)+"/1/"+verb, ""); got.status != status {
					t.Errorf("%s again: %s, want %d", verb, got, status)
				}
			}
		}
		if got := s.call(http.MethodGet, wire.OperationPath(id), ""); got.status != http.StatusOK || strings.Contains(got.body, "SECRET") {
			t.Errorf("get: %s", got)
		}
		for table, digest := range s.snapshot() {
			if before[table] != digest {
				t.Errorf("a repeated call writes to %s", table)
			}
		}
	}
}
