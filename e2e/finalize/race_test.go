package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// waiting counts the connections of a database that wait for a lock.
func (s *stack) waiting(db *outboxtest.Database) int {
	s.t.Helper()
	return read[int](s, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
}

// lock takes row locks on a connection of its own; the function gives them back.
func (s *stack) lock(db *outboxtest.Database, sql string, args ...any) (tx pgx.Tx, letGo func()) {
	s.t.Helper()
	tx, err := db.Pool.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := tx.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatal(err)
	}
	return tx, func() {
		s.t.Helper()
		if err := tx.Commit(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// holds are those of the registry.
func (s *stack) holds() *hold.Store {
	s.t.Helper()
	store, err := hold.New(hold.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

// entity returns what a step made.
func (s *stack) entity(id uuid.UUID, step string) string {
	s.t.Helper()
	return read[string](s, s.registry, `SELECT stable_id FROM outbox.hold_receipt WHERE operation_id = $1 AND step_key = $2 ORDER BY generation DESC LIMIT 1`, id, step)
}

// TestCompensationAgainstStaleWriter: a write that was on its way when its operation was undone is refused,
// or it was first, and is undone too. Its client is served by the next generation.
func TestCompensationAgainstStaleWriter(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	writer, reconciler := s.replica(), s.replica()
	t.Run("the cancel is first", func(t *testing.T) {
		id, open := s.draft(), make(chan struct{})
		reached := s.gate.on(id, "member:1", 1, stall(open))
		client := async(func() answer { return writer.finalize(id) })
		wait(s, "the write is on its way", reached)
		s.age(id, "2 h")
		s.free()
		reconciler.tick()
		s.wantState(id, 1, saga.StateAborted)
		close(open)
		if got := wait(s, "the client is served", client); got.status != http.StatusOK {
			t.Errorf("answer is %s", got)
		}
		late := s.gate.of(id)
		for _, v := range late {
			if v.name == "member:1" && v.header.Get("Holdfast-Generation") == "1" && v.status != http.StatusGone {
				t.Errorf("the late write is answered %d %s", v.status, v.answer)
			}
		}
		s.wantUndone(id, 1)
		s.wantFiled(id, 2)
	})
	t.Run("the write is first", func(t *testing.T) {
		id, open := s.draft(), make(chan struct{})
		reached := s.gate.on(id, "member:0", 1, stall(open))
		client := async(func() answer { return writer.finalize(id) })
		wait(s, "the write is on its way", reached)
		_, letGo := s.lock(s.registry, `SELECT FROM entity WHERE id = $1 FOR UPDATE`, s.entity(id, "household"))
		close(open)
		s.until("the write is past the gate", func() bool { return s.waiting(s.registry) == 1 })
		s.age(id, "2 h")
		s.free()
		ticked := make(chan error, 1)
		go func() {
			_, err := reconciler.Coordinator().Tick(t.Context())
			ticked <- err
		}()
		s.until("the cancel waits for the write", func() bool { return s.waiting(s.registry) == 2 })
		letGo()
		if err := wait(s, "the tick ends", ticked); err != nil {
			t.Error(err)
		}
		if got := wait(s, "the client is served", client); got.status != http.StatusOK && got.status != http.StatusServiceUnavailable {
			t.Errorf("answer is %s", got)
		}
		writer.finish(id)
		if g := s.graphOf(id, 1); len(g.Steps) != 3 {
			t.Errorf("undone is %+v, want the late write among it", g)
		}
		s.wantFiled(id, 2)
	})
	s.settle()
}

// TestSharedEntityIsQuarantined: what something else uses by now is left intact for a person, the rest is
// erased, and the operation is aborted all the same.
func TestSharedEntityIsQuarantined(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	r := s.replica()
	id := s.abandoned(r, "asset:0")
	bo, home := s.entity(id, "person:1"), s.entity(id, "household")
	if got := s.call(http.MethodPost, "/v1/entities/"+bo+"/corrections", `{"data":{"name":"SECRET-Beau"}}`); got.status != http.StatusOK {
		t.Fatalf("correct: %s", got)
	}
	guest := s.newGuest()
	if got := s.call(http.MethodPost, "/v1/memberships", `{"household":"`+home+`","person":"`+guest+`","data":{"role":"guest"}}`); got.status != http.StatusOK {
		t.Fatalf("join: %s", got)
	}
	// A correction that is being written when compensation comes: it is judged under the lock.
	ada := s.entity(id, "person:0")
	key := uuid.New()
	tx, letGo := s.lock(s.registry, `SELECT FROM entity WHERE id = $1 FOR UPDATE`, ada)
	for _, sql := range []string{
		`INSERT INTO fact_key (id, secret) VALUES ($1, sha256('x'))`,
		`INSERT INTO fact (entity_id, number, key_id, sealed) SELECT '` + ada + `', 2, $1, ''`,
	} {
		if _, err := tx.Exec(t.Context(), sql, key); err != nil {
			t.Fatal(err)
		}
	}
	s.age(id, "2 h")
	ticked := make(chan error, 1)
	go func() {
		_, err := r.Coordinator().Tick(t.Context())
		ticked <- err
	}()
	s.until("compensation waits for the correction", func() bool { return s.waiting(s.registry) == 1 })
	letGo()
	if err := wait(s, "the tick ends", ticked); err != nil {
		t.Fatal(err)
	}
	s.wantState(id, 1, saga.StateAborted)
	left, err := s.holds().Quarantined(t.Context(), s.registry.Pool, outbox.Hold{Operation: id, Generation: 1})
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, q := range left {
		reasons[q.Step] = q.Reason
	}
	if len(left) != 3 || !strings.Contains(reasons["person:0"], "corrected") || !strings.Contains(reasons["person:1"], "corrected") || !strings.Contains(reasons["household"], "belongs") {
		t.Errorf("quarantined are %v", reasons)
	}
	for step, readable := range map[string]bool{"person:1": true, "household": true, "member:0": false, "income:1": false, "asset:0": false} {
		got := s.call(http.MethodGet, "/v1/entities/"+s.entity(id, step), "")
		if strings.Contains(got.body, "data") != readable || strings.Contains(got.body, `"active":true`) != readable {
			t.Errorf("%s is %s", step, got)
		}
	}
	// What is erased takes nothing more; what is intact does.
	if got := s.call(http.MethodPost, "/v1/entities/"+s.entity(id, "income:0")+"/corrections", `{"data":{}}`); got.status != http.StatusNotFound {
		t.Errorf("correct what is erased: %s", got)
	}
	if g := s.graphOf(id, 1); g.Quarantined != 3 || g.Active != 3 || g.Readable != 3 || g.Erased != 5 || g.Held+g.Free != 0 {
		t.Errorf("there is %+v", g)
	}
	r.want(id, http.StatusOK)
	if g := s.graphOf(id, 2); g.Active != len(steps) || g.Free != eventsOf(steps) {
		t.Errorf("the next generation is %+v", g)
	}
	s.settle()
}

// TestResultOfAnother: the application is there already when the operation wants to write it. Its unique
// index decides: roll back, and answer what is there. What the operation made is undone in time.
func TestResultOfAnother(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	r := s.replica()
	id, household := s.draft(), uuid.New()
	s.gate.on(id, "asset:0", 1, func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		s.exec(s.intake, `INSERT INTO application VALUES ($1, $2, '2020-01-01', '2020-01-01', true)`, id, household)
		next.ServeHTTP(w, q)
	})
	if got := r.want(id, http.StatusOK); !strings.Contains(got.body, household.String()) {
		t.Errorf("answer is %s", got)
	}
	if n := read[int](s, s.intake, `SELECT count(*) FROM outbox.event_outbox`); n != 0 {
		t.Errorf("%d events of an application that was not written", n)
	}
	s.age(id, "2 h")
	r.tick()
	s.wantState(id, 1, saga.StateAborted)
	s.wantUndone(id, 1)
	s.settle()
}

// TestGenerationsThatTheRegistryRemembers: the operation was pruned here, and its generations there. The
// registry refuses the first one, and tells over HTTP how far it is: the operation takes the next one.
func TestGenerationsThatTheRegistryRemembers(t *testing.T) {
	t.Parallel()
	s := newStack(t).listen()
	r := s.replica()
	id := s.draft()
	for range 2 {
		s.gate.on(id, "household", 1, lose)
		r.want(id, http.StatusServiceUnavailable)
		s.age(id, "2 h")
		s.free()
		r.tick()
	}
	s.wantState(id, 2, saga.StateAborted)
	s.exec(s.intake, `DELETE FROM outbox.saga_operation WHERE operation_id = $1`, id)
	s.exec(s.registry, `UPDATE outbox.hold_generation SET decided_at = decided_at - interval '1 year', compensated_at = compensated_at - interval '1 year'`)
	if pruned, err := s.holds().Prune(t.Context(), s.registry.Pool, "keeper", hold.Retention{}, 100); err != nil || pruned.Generations != 2 {
		t.Fatalf("pruned %+v, %v", pruned, err)
	}
	r.want(id, http.StatusOK)
	want := graphFiled()
	if g := s.graphOf(id, 3); g.State != want.State || g.Active != want.Active || g.Free != want.Free {
		t.Errorf("generation 3 is %+v", g)
	}
	s.settle()
}

// TestGenerationIsCountedOnce: a claim that fails counts nothing, one that succeeds counts one, and none
// counts past the end.
func TestGenerationIsCountedOnce(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.replica()
	id := s.abandoned(r, "person:0")
	s.age(id, "2 h")
	r.tick()
	s.doomed(fault.Commits, 1, false).want(id, http.StatusServiceUnavailable)
	s.wantState(id, 1, saga.StateAborted)
	s.gate.on(id, "household", 1, refuse(http.StatusInternalServerError))
	r.want(id, http.StatusServiceUnavailable)
	s.wantState(id, 2, saga.StateInProgress)
	s.exec(s.intake, `UPDATE outbox.saga_operation SET generation = 2147483647, state = 'aborted', lease_holder = NULL, lease_expires_at = NULL WHERE operation_id = $1`, id)
	calls := len(s.gate.of(id))
	r.want(id, http.StatusBadGateway)
	s.wantState(id, 2147483647, saga.StateAborted)
	if n := len(s.gate.of(id)); n != calls {
		t.Errorf("%d calls in a generation that does not exist", n-calls)
	}
}
