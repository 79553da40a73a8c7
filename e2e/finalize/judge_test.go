package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// graph is what there is of a generation at the registry.
type graph struct {
	State                  string
	Steps                  []string // with a receipt
	Active, Erased         int      // entities
	Readable               int      // facts whose key is there
	Held, Free             int      // events
	Quarantined            int
	Households, Applicants int // entities that belong where they should
}

// graphOf reads it.
func (s *stack) graphOf(id uuid.UUID, generation int) graph {
	s.t.Helper()
	g := graph{Steps: list[string](s, s.registry, `SELECT step_key FROM outbox.hold_receipt WHERE operation_id = $1 AND generation = $2`, id, generation)}
	slices.SortFunc(g.Steps, func(a, b string) int { return slices.Index(steps, a) - slices.Index(steps, b) })
	err := s.registry.Pool.QueryRow(s.t.Context(), `SELECT
		coalesce((SELECT state FROM outbox.hold_generation WHERE operation_id = $1 AND generation = $2), ''),
		(SELECT count(*) FROM entity WHERE operation_id = $1 AND generation = $2 AND active),
		(SELECT count(*) FROM entity WHERE operation_id = $1 AND generation = $2 AND NOT active),
		(SELECT count(*) FROM fact f JOIN fact_key k ON k.id = f.key_id WHERE f.operation_id = $1 AND f.generation = $2 AND k.secret IS NOT NULL),
		(SELECT count(*) FROM outbox.event_outbox WHERE hold_operation_id = $1 AND hold_generation = $2 AND tx IS NULL),
		(SELECT count(*) FROM outbox.event_outbox WHERE hold_operation_id = $1 AND hold_generation = $2 AND tx IS NOT NULL),
		(SELECT count(*) FROM outbox.hold_receipt WHERE operation_id = $1 AND generation = $2 AND outcome = 'quarantined'),
		(SELECT count(*) FROM entity m JOIN entity h ON h.id = m.household_id JOIN entity p ON p.id = m.person_id
		  WHERE (m.operation_id, m.generation) = ($1, $2) AND (h.operation_id, h.generation, h.kind) = ($1, $2, 'household')
		    AND (p.operation_id, p.generation, p.kind) = ($1, $2, 'person')),
		(SELECT count(*) FROM entity a JOIN outbox.hold_receipt r ON r.stable_id = a.person_id::text
		  WHERE (a.operation_id, a.generation) = ($1, $2) AND r.step_key = 'person:0' AND a.kind <> 'membership')`, id, generation).
		Scan(&g.State, &g.Active, &g.Erased, &g.Readable, &g.Held, &g.Free, &g.Quarantined, &g.Households, &g.Applicants)
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

// eventsOf counts what those steps stage.
func eventsOf(made []string) (n int) {
	for _, step := range made {
		name, _, _ := strings.Cut(step, ":")
		n += events[name]
	}
	return n
}

// graphFiled is that of an application.
func graphFiled() graph {
	return graph{State: "released", Steps: steps, Active: len(steps), Readable: len(steps), Free: eventsOf(steps), Households: 2, Applicants: 2}
}

// wantFiled wants one application, one graph in this generation, and nothing of the generations before.
func (s *stack) wantFiled(id uuid.UUID, generation int) {
	s.t.Helper()
	if diff := cmp.Diff(graphFiled(), s.graphOf(id, generation)); diff != "" {
		s.t.Errorf("graph of generation %d (-want +got):\n%s", generation, diff)
	}
	for before := 1; before < generation; before++ {
		s.wantUndone(id, before)
	}
	const filed = `SELECT count(*) FROM application a WHERE a.id = $1 AND NOT EXISTS (SELECT FROM draft d WHERE d.id = a.id)`
	if n := read[int](s, s.intake, filed, id); n != 1 {
		s.t.Errorf("%d applications that have consumed their draft", n)
	}
	if n := read[int](s, s.intake, `SELECT count(*) FROM outbox.event_outbox WHERE subject = $1`, id.String()); n != 1 {
		s.t.Errorf("%d events of the application", n)
	}
	household := read[string](s, s.registry, `SELECT stable_id FROM outbox.hold_receipt WHERE operation_id = $1 AND generation = $2 AND step_key = 'household'`, id, generation)
	if got := read[string](s, s.intake, `SELECT household_id::text FROM application WHERE id = $1`, id); got != household {
		s.t.Errorf("application has household %s, the receipt %s", got, household)
	}
	s.wantState(id, generation, saga.StateCompleted)
	if !read[bool](s, s.intake, `SELECT events_released FROM outbox.saga_operation WHERE operation_id = $1`, id) {
		s.t.Error("the release is not noted")
	}
}

// wantUndone wants nothing of a generation to be left in effect.
func (s *stack) wantUndone(id uuid.UUID, generation int) {
	s.t.Helper()
	g := s.graphOf(id, generation)
	if g.State != "cancelled" || g.Active+g.Readable+g.Held+g.Free+g.Quarantined != 0 || g.Erased != len(g.Steps) {
		s.t.Errorf("generation %d is not undone: %+v", generation, g)
	}
}

func (s *stack) wantState(id uuid.UUID, generation int, want saga.State) {
	s.t.Helper()
	got := read[string](s, s.intake, `SELECT generation || ' ' || state FROM outbox.saga_operation WHERE operation_id = $1`, id)
	if got != strconv.Itoa(generation)+" "+string(want) {
		s.t.Errorf("operation is %s, want %d %s", got, generation, want)
	}
}

// wantNoApplication wants the draft to be there and no application.
func (s *stack) wantNoApplication(id uuid.UUID) {
	s.t.Helper()
	if n := read[int](s, s.intake, `SELECT count(*) FROM application WHERE id = $1`, id); n != 0 {
		s.t.Errorf("%d applications", n)
	}
}

// snapshot returns a digest of every row of every table of both services.
func (s *stack) snapshot() map[string]string {
	s.t.Helper()
	digests := map[string]string{}
	for name, db := range map[string]*outboxtest.Database{"intake": s.intake, "registry": s.registry} {
		for _, table := range list[string](s, db, `SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN ('public', 'outbox')
			AND tablename NOT IN ('outbox_lane', 'outbox_relay', 'outbox_batch')`) { // where relays write, whenever they do
			digests[name+" "+table] = digestOf(s, db, table)
		}
	}
	return digests
}

// digestOf returns one of the rows of a table.
func digestOf(s *stack, db *outboxtest.Database, table string) string {
	s.t.Helper()
	return read[string](s, db, fmt.Sprintf(`SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, E'\n' ORDER BY t::text)), '') FROM %s t`, table))
}

// call makes a request at the registry, as the intake would without an operation.
func (s *stack) call(method, path, body string, headers ...string) answer {
	s.t.Helper()
	got, err := s.ask(method, s.url+path, body, headers...)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s *stack) ask(method, url, body string, headers ...string) (answer, error) {
	request, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(text), response.Header}, err
}

// newGuest records a person that no operation made, and returns its id.
func (s *stack) newGuest() string {
	s.t.Helper()
	got := s.call(http.MethodPost, "/v1/persons", `{"data":{"name":"SECRET-Guest"}}`)
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(got.body), &made); err != nil || made.ID == "" {
		s.t.Fatalf("record a person: %s, %v", got, err)
	}
	return made.ID
}
