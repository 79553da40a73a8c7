package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

// TestOneReconcilerLeads: of replicas that tick at once one acts; when it is gone, the next one.
func TestOneReconcilerLeads(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	replicas := []*replica{s.replica(), s.replica(), s.replica()}
	lead := func() (leaders []int) {
		for i, r := range replicas {
			if r.tick().Led {
				leaders = append(leaders, i)
			}
		}
		return leaders
	}
	for range 2 {
		if got := lead(); len(got) != 1 || got[0] != 0 {
			t.Errorf("leaders are %v", got)
		}
	}
	s.exec(s.intake, `UPDATE outbox.saga_reconciler SET lease_until = clock_timestamp() - interval '1 s'`)
	replicas = replicas[1:]
	if got := lead(); len(got) != 1 {
		t.Errorf("leaders after the first one has gone are %v", got)
	}
}

// TestTwoReconcilersAreHarmless: the first one is held up in a call, the second one takes its turn and ends
// it, and then the first one goes on.
func TestTwoReconcilersAreHarmless(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	first, second := s.replica(), s.replica()
	for name, how := range map[string]func(open <-chan struct{}) way{"the call": stall, "the answer": stallAnswer} {
		t.Run("cancel, "+name+" is held up", func(t *testing.T) {
			id, open := s.abandoned(first, "income:0"), make(chan struct{})
			reached := s.gate.on(id, "cancel", 1, how(open))
			s.age(id, "2 h")
			s.free()
			ticked := make(chan *saga.Report, 1)
			go func() {
				report, err := first.Coordinator().Tick(t.Context())
				if err != nil {
					t.Error(err)
				}
				ticked <- report
			}()
			wait(s, "the first one cancels", reached)
			s.age(id, "1 s") // its turn is over
			s.free()
			if report := second.tick(); report.Aborted != 1 {
				t.Errorf("report of the second one is %+v", report)
			}
			close(open)
			if report := wait(s, "the first one ends", ticked); report.Aborted != 0 || report.LeaseLost != 1 {
				t.Errorf("report of the first one is %+v", report)
			}
			s.wantState(id, 1, saga.StateAborted)
			s.wantUndone(id, 1)
			if n := read[int](s, s.intake, `SELECT count(*) FROM outbox.saga_audit WHERE operation_id = $1 AND action = 'abort'`, id); n != 1 {
				t.Errorf("aborted %d times", n)
			}
		})
		t.Run("release, "+name+" is held up", func(t *testing.T) {
			id, open := s.draft(), make(chan struct{})
			s.gate.on(id, "release", 4, refuse(http.StatusServiceUnavailable))
			first.want(id, http.StatusOK)
			reached := s.gate.on(id, "release", 1, how(open))
			s.age(id, "0")
			s.free()
			ticked := make(chan *saga.Report, 1)
			go func() {
				report, err := first.Coordinator().Tick(t.Context())
				if err != nil {
					t.Error(err)
				}
				ticked <- report
			}()
			wait(s, "the first one releases", reached)
			s.age(id, "0")
			s.free()
			if report := second.tick(); report.Released != 1 {
				t.Errorf("report of the second one is %+v", report)
			}
			close(open)
			wait(s, "the first one ends", ticked)
			s.wantFiled(id, 1)
		})
	}
	s.settle()
}

// TestAbortIsResumed: the reconciler dies when it notes that the operation is aborted, before it is noted
// or after.
func TestAbortIsResumed(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	r := s.replica()
	for name, noted := range map[string]bool{"before it is noted": false, "after it is noted": true} {
		t.Run(name, func(t *testing.T) {
			id := s.abandoned(r, "person:1")
			s.age(id, "2 h")
			s.free()
			if _, err := s.doomed(fault.Executes("SET state = 'aborted'"), 1, noted).Coordinator().Tick(t.Context()); err == nil {
				t.Error("it did not die")
			}
			if !noted {
				s.wantState(id, 1, saga.StateCompensating)
				r.want(id, http.StatusServiceUnavailable)
			}
			s.age(id, "1 s")
			s.free()
			r.tick()
			s.wantState(id, 1, saga.StateAborted)
			s.wantUndone(id, 1)
		})
	}
	s.settle()
}

// TestCancelIsResumed: the registry loses its database at a commit of a cancel: that of the mark, of the
// first entity, of one in the middle, of the last one. The call is repeated, and goes on with the rest.
func TestCancelIsResumed(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	proxy := s.throughProxy()
	r := s.replica()
	for _, commits := range []int{0, 1, 4, len(steps)} {
		t.Run(fmt.Sprintf("after %d commits", commits), func(t *testing.T) {
			id := s.abandoned(r, "asset:0")
			var cut *fault.Handle
			s.gate.on(id, "cancel", 1, func(w http.ResponseWriter, q *http.Request, next http.Handler) {
				cut = proxy.Add(fault.PostgresRule{Match: fault.Commits, After: commits, Times: 1, Do: fault.CutAfter()})
				next.ServeHTTP(w, q)
			})
			s.age(id, "2 h")
			s.free()
			r.tick()
			if cut.Hits() != 1 {
				t.Error("nothing was cut")
			}
			s.wantState(id, 1, saga.StateAborted)
			s.wantUndone(id, 1)
			if s.gate.count(id, "cancel") != 2 {
				t.Errorf("cancelled by %d calls", s.gate.count(id, "cancel"))
			}
		})
	}
	s.settle()
}
