package main

import (
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// TestCriterionA: however many run one operation, it has one result and one graph.
func TestCriterionA(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	one, other := s.replica(), s.replica()
	t.Run("many clients at once", func(t *testing.T) {
		id := s.draft()
		var clients sync.WaitGroup
		answers := make([]answer, 8)
		start := make(chan struct{})
		for i := range answers {
			clients.Go(func() {
				<-start
				answers[i] = []*replica{one, other}[i%2].finish(id)
			})
		}
		close(start)
		clients.Wait()
		for _, a := range answers {
			if a.body != answers[0].body {
				t.Errorf("answers are %s and %s", a.body, answers[0].body)
			}
		}
		s.wantFiled(id, 1)
		for _, step := range steps {
			if n := s.gate.count(id, step); n != 1 {
				t.Errorf("%s was called %d times", step, n)
			}
		}
	})
	t.Run("two first claims behind one lock", func(t *testing.T) { s.firstClaims(t, one, other) })
	t.Run("two operations do not wait for each other", func(t *testing.T) {
		id, another := s.draft(), s.draft()
		open := make(chan struct{})
		reached := s.gate.on(id, "household", 1, stall(open))
		first := async(func() answer { return one.finalize(id) })
		wait(s, "the first one calls", reached)
		other.want(another, http.StatusOK)
		close(open)
		if got := wait(s, "the first one ends", first); got.status != http.StatusOK {
			t.Errorf("answer is %s", got)
		}
		s.wantFiled(id, 1)
		s.wantFiled(another, 1)
	})
	t.Run("another form under the same id", func(t *testing.T) { s.editedForm(t, one, other) })
	s.settle()
	s.wantResolvable()
}

// firstClaims holds the draft until two claims wait for it.
func (s *stack) firstClaims(t *testing.T, one, other *replica) {
	id := s.draft()
	lock, err := s.intake.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback(t.Context())
	if _, err := lock.Exec(t.Context(), `SELECT FROM draft WHERE id = $1 FOR UPDATE`, id); err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	reached := s.gate.on(id, "register", 1, stall(open))
	answers := make(chan answer, 2)
	for _, r := range []*replica{one, other} {
		go func() { answers <- r.finalize(id) }()
	}
	s.until("both claims wait", func() bool {
		return read[int](s, s.intake, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 2
	})
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(s, "one has won", reached)
	loser := wait(s, "the loser is told", answers)
	seconds, err := strconv.Atoi(loser.header.Get("Retry-After"))
	if loser.status != http.StatusServiceUnavailable || err != nil || seconds < 1 || seconds > 30 {
		t.Errorf("the loser is told %s, Retry-After %q", loser, loser.header.Get("Retry-After"))
	}
	close(open)
	if winner := wait(s, "the winner ends", answers); winner.status != http.StatusOK {
		t.Errorf("the winner is told %s", winner)
	}
	if n := s.gate.count(id, "register"); n != 1 {
		t.Errorf("registered %d times", n)
	}
	s.wantFiled(id, 1)
}

// editedForm: the digest is compared before anybody is called, on a live lease and on a steal; the next
// generation pins anew.
func (s *stack) editedForm(t *testing.T, one, other *replica) {
	id := s.draft()
	s.gate.on(id, "income:0", 1, refuse(http.StatusInternalServerError))
	one.want(id, http.StatusServiceUnavailable)
	edited := form()
	edited.Incomes[0].Amount = "1200.5"
	send := func(want int) answer {
		t.Helper()
		got, err := post(t.Context(), other.url, id, edited)
		if err != nil || got.status != want {
			t.Fatalf("edited form: %s, %v; want %d", got, err, want)
		}
		return got
	}
	before := len(s.gate.of(id))
	send(http.StatusConflict) // the lease was let go: this would be a steal
	s.exec(s.intake, `UPDATE outbox.saga_operation SET lease_expires_at = clock_timestamp() + interval '1 h' WHERE operation_id = $1`, id)
	send(http.StatusConflict)
	if after := len(s.gate.of(id)); after != before {
		t.Errorf("%d calls for a form that is refused", after-before)
	}
	s.age(id, "2 h")
	one.tick()
	s.wantState(id, 1, "aborted")
	send(http.StatusOK)
	s.wantFiled(id, 2)
	if first := one.want(id, http.StatusOK); first.body != send(http.StatusOK).body {
		t.Error("what is completed answers by what was sent")
	}
}

// TestUnknownDraft: nothing is called for a draft that is not there.
func TestUnknownDraft(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r, id := s.replica(), uuid.New()
	r.want(id, http.StatusNotFound)
	bad := form()
	bad.Incomes[0].Owner = 2
	if got, err := post(t.Context(), r.url, s.draft(), bad); err != nil || got.status != http.StatusUnprocessableEntity {
		t.Errorf("income of nobody: %s, %v", got, err)
	}
	if n := len(s.gate.of(id)); n != 0 {
		t.Errorf("%d calls", n)
	}
}
