package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// failure is a way in which a call can go wrong. Its function has the operation meet it, once, at the
// call of that name.
type failure struct {
	name string
	// calls are those that it is tried at.
	calls []string
	// prepare says how to fail in a stack.
	prepare func(s *stack) func(t *testing.T, id uuid.UUID, call string)
}

var (
	remote    = slices.Concat([]string{"register"}, steps)
	andTheEnd = slices.Concat(remote, []string{"release"})
)

var matrix = []failure{
	{"refused before the commit", andTheEnd, atTheGate(refuse(http.StatusInternalServerError))},
	{"timeout before the commit", andTheEnd, atTheGate(hang)},
	{"commit, then a lost answer", andTheEnd, atTheGate(lose)},
	{"timeout after the commit", andTheEnd, atTheGate(late)},
	{"commit whose outcome the registry does not know", andTheEnd, atTheCommit},
	{"answer, then a crash before it is recorded", steps, crashAtRecord(false)},
	{"recorded, then a crash", steps, crashAtRecord(true)},
	{"lease stolen while the call is on its way", remote, stolen(stall)},
	{"lease stolen while the answer is on its way", remote, stolen(stallAnswer)},
	{"lease stolen, and both are under way", remote, bothUnderWay},
	{"final commit, then a lost answer", []string{"commit"}, finalCommitLost},
	{"final commit that did not happen", []string{"commit"}, finalCommitFailed},
}

// TestFailureMatrix: whatever goes wrong, at whichever call, the client that asks again gets its
// application, there is one graph, and nobody downstream hears of it before, nor twice.
func TestFailureMatrix(t *testing.T) {
	t.Parallel()
	for _, f := range matrix {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, func(set *saga.Settings) {
				if strings.HasPrefix(f.name, "timeout") {
					set.ParticipantTimeout = 400 * time.Millisecond
				}
			}).listen()
			fail := f.prepare(s)
			for _, call := range f.calls {
				t.Run(call, func(t *testing.T) {
					id := s.draft()
					fail(t, id, call)
					s.age(id, "1 s")
					s.replica().finish(id)
					s.releaseLeft(id)
					s.wantFiled(id, 1)
					s.wantSameBodies(id)
				})
			}
			s.settle()
			s.wantResolvable()
		})
	}
}

// releaseLeft has a reconciler release what the run could not.
func (s *stack) releaseLeft(id uuid.UUID) {
	s.t.Helper()
	r := s.replica()
	s.until("it is released", func() bool {
		if read[bool](s, s.intake, `SELECT events_released FROM outbox.saga_operation WHERE operation_id = $1`, id) {
			return true
		}
		s.age(id, "0")
		s.free()
		_, err := r.Coordinator().Tick(s.t.Context())
		if err != nil {
			s.t.Logf("tick: %v", err) // it runs out of time on a slow machine; the next one goes on
		}
		return false
	})
}

// atTheGate fails all attempts of one call.
func atTheGate(how way) func(s *stack) func(*testing.T, uuid.UUID, string) {
	return func(s *stack) func(*testing.T, uuid.UUID, string) {
		r := s.replica()
		return func(t *testing.T, id uuid.UUID, call string) {
			want, attempts := http.StatusServiceUnavailable, 1
			switch call {
			case "register":
				attempts = 4
			case "release": // it is completed, whatever becomes of its release
				want, attempts = http.StatusOK, 4
			}
			reached := s.gate.on(id, call, attempts, how)
			s.finalizeUntil(r, id, reached, want)
			s.gate.forget(id)
		}
	}
}

// finalizeUntil sends the form until the failure was met, and wants that answer then. On a slow machine
// another call may run out of time first.
func (s *stack) finalizeUntil(r *replica, id uuid.UUID, reached <-chan struct{}, want int) {
	s.t.Helper()
	var got answer
	s.until("the failure is met", func() bool {
		got = r.finalize(id)
		select {
		case <-reached:
			return true
		default:
			return false
		}
	})
	if got.status != want {
		s.t.Errorf("answer is %s, want %d", got, want)
	}
}

// atTheCommit cuts the registry's connection to its database after a commit: it cannot know the outcome.
func atTheCommit(s *stack) func(*testing.T, uuid.UUID, string) {
	arm := s.fragileRegistry()
	r := s.replica()
	return func(t *testing.T, id uuid.UUID, call string) {
		cut := make(chan string, 1)
		reached := s.gate.on(id, call, 1, func(w http.ResponseWriter, q *http.Request, next http.Handler) {
			arm()
			recorded := httptest.NewRecorder()
			next.ServeHTTP(recorded, q)
			cut <- http.StatusText(recorded.Code)
			replay(w, recorded)
		})
		s.until("the failure is met", func() bool {
			r.finalize(id)
			select {
			case <-reached:
				return true
			default:
				return false
			}
		})
		if got := wait(s, "the registry answers", cut); got != "Service Unavailable" {
			t.Errorf("the registry answers %q to an outcome that it does not know", got)
		}
	}
}

// crashAtRecord has the process die when it notes what a step has answered.
func crashAtRecord(done bool) func(s *stack) func(*testing.T, uuid.UUID, string) {
	return func(s *stack) func(*testing.T, uuid.UUID, string) {
		return func(t *testing.T, id uuid.UUID, call string) {
			nth := slices.Index(steps, call) + 1
			s.doomed(recordsStep, nth, done).want(id, http.StatusServiceUnavailable)
			want := nth - 1
			if done {
				want = nth
			}
			if n := read[int](s, s.intake, `SELECT count(*) FROM outbox.saga_step WHERE operation_id = $1`, id); n != want {
				t.Errorf("%d steps are recorded, want %d", n, want)
			}
			if g := s.graphOf(id, 1); len(g.Steps) != nth {
				t.Errorf("%d receipts, want %d", len(g.Steps), nth)
			}
			s.wantState(id, 1, saga.StateInProgress)
			if got := s.replica().want(id, http.StatusServiceUnavailable); got.header.Get("Retry-After") == "" {
				t.Errorf("the lease of the dead is not waited for: %s", got)
			}
		}
	}
}

// stolen has a successor finish the operation while the first one's call is under way. That one makes no
// further call, and tells its client what the successor made.
func stolen(how func(open <-chan struct{}) way) func(s *stack) func(*testing.T, uuid.UUID, string) {
	return func(s *stack) func(*testing.T, uuid.UUID, string) {
		zombie, successor := s.replica(), s.replica()
		return func(t *testing.T, id uuid.UUID, call string) {
			open := make(chan struct{})
			reached := s.gate.on(id, call, 1, how(open))
			client := async(func() answer { return zombie.finalize(id) })
			wait(s, "the call is under way", reached)
			s.age(id, "1 s")
			first := successor.want(id, http.StatusOK)
			calls := len(s.gate.of(id))
			close(open)
			if got := wait(s, "the zombie ends", client); got.status != http.StatusOK || got.body != first.body {
				t.Errorf("the zombie tells its client %s, the successor %s", got, first)
			}
			if n := len(s.gate.of(id)); n != calls {
				t.Errorf("the zombie made %d more calls", n-calls)
			}
		}
	}
}

// bothUnderWay has a successor that is at its next call when the first one's call arrives. That one makes
// no further call.
func bothUnderWay(s *stack) func(*testing.T, uuid.UUID, string) {
	zombie, successor := s.replica(), s.replica()
	return func(t *testing.T, id uuid.UUID, call string) {
		next := andTheEnd[slices.Index(andTheEnd, call)+1]
		arrive, goOn := make(chan struct{}), make(chan struct{})
		reached := s.gate.on(id, call, 1, stall(arrive))
		late := async(func() answer { return zombie.finalize(id) })
		wait(s, "the call is under way", reached)
		s.age(id, "1 s")
		reached = s.gate.on(id, next, 1, stall(goOn))
		client := async(func() answer { return successor.finalize(id) })
		wait(s, "the successor is at its next call", reached)
		calls := len(s.gate.of(id))
		close(arrive)
		want := http.StatusServiceUnavailable
		if next == "release" { // it is completed
			want = http.StatusOK
		}
		if got := wait(s, "the zombie ends", late); got.status != want {
			t.Errorf("the zombie tells its client %s, want %d", got, want)
		}
		if n := len(s.gate.of(id)); n != calls {
			t.Errorf("the zombie made %d more calls", n-calls)
		}
		close(goOn)
		if got := wait(s, "the successor ends", client); got.status != http.StatusOK {
			t.Errorf("the successor tells its client %s", got)
		}
	}
}

// finalCommitLost cuts the connection after the final transaction was committed.
func finalCommitLost(s *stack) func(*testing.T, uuid.UUID, string) {
	return func(t *testing.T, id uuid.UUID, _ string) {
		s.doomed(commitsFinal(), 1, true).want(id, http.StatusServiceUnavailable)
		s.wantState(id, 1, saga.StateCompleted)
		if g := s.graphOf(id, 1); g.Held != eventsOf(steps) {
			t.Errorf("before anybody releases there is %+v", g)
		}
	}
}

// finalCommitFailed cuts it before.
func finalCommitFailed(s *stack) func(*testing.T, uuid.UUID, string) {
	return func(t *testing.T, id uuid.UUID, _ string) {
		s.doomed(commitsFinal(), 1, false).want(id, http.StatusServiceUnavailable)
		s.wantState(id, 1, saga.StateInProgress)
		s.wantNoApplication(id)
	}
}
