package main

import (
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// ended is an operation as the intake has it at the end.
type ended struct {
	ID         uuid.UUID
	Generation int
	State      string
	Answer     string // of the application; "" for none
	Draft      bool
}

// made is a step as the registry has it at the end.
type made struct {
	Operation  uuid.UUID
	Generation int
	Step       string
	Outcome    string // of compensation; "" for none
	Active     bool
	Readable   bool // the operation's own fact has its key
}

// verdict counts what the storm came to.
type verdict struct{ filed, aborted, again, never, erased, quarantined int }

// judge compares what the services have with each other, and with what clients were told.
func (s *storm) judge() {
	s.t.Helper()
	var v verdict
	graphs := s.graphs()
	events := s.heldEvents()
	known := map[uuid.UUID]ended{}
	for _, e := range s.endedOperations() {
		known[e.ID] = e
		s.judgeOperation(e, graphs[e.ID], events[e.ID], &v)
		delete(graphs, e.ID)
	}
	for id := range graphs {
		s.t.Errorf("the registry has an operation %s that the intake does not know", id)
	}
	const nobodys = `SELECT count(*) FROM entity e WHERE e.operation_id IS NOT NULL
		AND NOT EXISTS (SELECT FROM outbox.hold_receipt r WHERE (r.operation_id, r.generation, r.stable_id) = (e.operation_id, e.generation, e.id::text))`
	if n := read[int](s.stack, s.registry, nobodys); n != 0 {
		s.t.Errorf("%d entities without a receipt", n)
	}
	if n := read[int](s.stack, s.registry, `SELECT count(*) FROM outbox.event_outbox WHERE tx IS NULL`); n != 0 {
		s.t.Errorf("%d events are held", n)
	}
	s.judgeClients(known, &v)
	s.t.Logf("%d operations: %d filed, %d aborted, %d never claimed; %d generations undone, %d entities erased, %d quarantined; %d deaths, %d pauses, %d changes by the clerk",
		len(s.operations), v.filed, v.aborted, v.never, v.again, v.erased, v.quarantined, s.deaths, s.pauses, s.changes)
	if v.filed == 0 {
		s.t.Error("nothing was filed, so nothing was tested")
	}
}

func (s *storm) endedOperations() []ended {
	s.t.Helper()
	return rowsOf[ended](s, s.stack.intake.Pool, `SELECT o.operation_id, o.generation, o.state,
		coalesce((SELECT jsonb_build_object('application', a.id, 'household', a.household_id, 'filed_on', a.filed_on, 'received_at', a.received_at)::text
		            FROM application a WHERE a.id = o.operation_id), ''),
		EXISTS (SELECT FROM draft d WHERE d.id = o.operation_id)
		FROM outbox.saga_operation o`)
}

func (s *storm) graphs() map[uuid.UUID][]made {
	s.t.Helper()
	all := map[uuid.UUID][]made{}
	for _, m := range rowsOf[made](s, s.registry.Pool, `SELECT r.operation_id, r.generation, r.step_key, coalesce(r.outcome, ''), e.active,
		EXISTS (SELECT FROM fact f JOIN fact_key k ON k.id = f.key_id
		         WHERE f.entity_id = e.id AND (f.operation_id, f.generation) = (r.operation_id, r.generation) AND k.secret IS NOT NULL)
		FROM outbox.hold_receipt r JOIN entity e ON e.id::text = r.stable_id`) {
		all[m.Operation] = append(all[m.Operation], m)
	}
	return all
}

// heldEvents counts the events in the log that were held once, by operation and generation.
func (s *storm) heldEvents() map[uuid.UUID]map[int]int {
	s.t.Helper()
	type count struct {
		Operation     uuid.UUID
		Generation, N int
	}
	all := map[uuid.UUID]map[int]int{}
	for _, c := range rowsOf[count](s, s.registry.Pool, `SELECT hold_operation_id, hold_generation, count(*) FROM outbox.event_outbox
		WHERE hold_operation_id IS NOT NULL AND tx IS NOT NULL GROUP BY 1, 2`) {
		if all[c.Operation] == nil {
			all[c.Operation] = map[int]int{}
		}
		all[c.Operation][c.Generation] = c.N
	}
	return all
}

// judgeOperation wants one result with its whole graph, or none and nothing left over.
func (s *storm) judgeOperation(e ended, graph []made, events map[int]int, v *verdict) {
	s.t.Helper()
	completed := e.State == string(saga.StateCompleted)
	if !completed && e.State != string(saga.StateAborted) {
		s.t.Errorf("operation %s ended as %s", e.ID, e.State)
	}
	if completed != (e.Answer != "") || completed && e.Draft {
		s.t.Errorf("operation %s is %s, its application is %q, its draft is there: %v", e.ID, e.State, e.Answer, e.Draft)
	}
	var kept []string
	undone := map[int]bool{}
	for _, m := range graph {
		if completed && m.Generation == e.Generation {
			if !m.Active || !m.Readable || m.Outcome != "" {
				s.t.Errorf("of a completed operation: %+v", m)
			}
			kept = append(kept, m.Step)
			continue
		}
		undone[m.Generation] = true
		switch {
		case m.Outcome == "undone" && !m.Active && !m.Readable:
			v.erased++
		case m.Outcome == "quarantined" && m.Active && m.Readable:
			v.quarantined++
		default:
			s.t.Errorf("orphan: %+v", m)
		}
	}
	v.again += len(undone)
	for generation, n := range events {
		if !completed || generation != e.Generation || n != eventsOf(steps) {
			s.t.Errorf("operation %s, %s in generation %d: %d events of generation %d have left", e.ID, e.State, e.Generation, n, generation)
		}
	}
	if !completed {
		v.aborted++
		return
	}
	v.filed++
	slices.Sort(kept)
	if want := slices.Sorted(slices.Values(steps)); !slices.Equal(kept, want) || len(events) != 1 {
		s.t.Errorf("operation %s has the steps %v and events of %d generations", e.ID, kept, len(events))
	}
}

// judgeClients compares the answers: the same bytes for everybody, and those of the application.
func (s *storm) judgeClients(known map[uuid.UUID]ended, v *verdict) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.operations {
		e, claimed := known[o.id]
		if !claimed {
			v.never++
		}
		for body := range o.answers {
			if body != e.Answer {
				s.t.Errorf("a client of %s was told %s; the application is %q", o.id, body, e.Answer)
			}
		}
		there := read[int](s.stack, s.stack.intake, `SELECT count(*) FROM draft WHERE id = $1`, o.id)
		if !o.brief && e.State != string(saga.StateCompleted) && there != 1 {
			s.t.Errorf("the draft of %s is gone before its time, and there is no application", o.id)
		}
		for status := range o.statuses {
			if !slices.Contains([]int{200, 404, 409, 502, 503}, status) {
				s.t.Errorf("a client of %s was told %d", o.id, status)
			}
		}
	}
	filed := read[int](s.stack, s.stack.intake, `SELECT count(*) FROM application`)
	told := read[int](s.stack, s.stack.intake, `SELECT count(*) FROM outbox.event_outbox WHERE type = 'application.filed'`)
	if filed != v.filed || told != v.filed {
		s.t.Errorf("%d operations completed, %d applications, %d events of them", v.filed, filed, told)
	}
}

func rowsOf[T any](s *storm, db *pgxpool.Pool, sql string) []T {
	s.t.Helper()
	rows, err := db.Query(s.t.Context(), sql)
	if err != nil {
		s.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}
