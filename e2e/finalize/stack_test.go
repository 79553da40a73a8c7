package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/finalize/intake"
	"github.com/holdfast-dev/holdfast/e2e/finalize/registry"
	"github.com/holdfast-dev/holdfast/hold/holdclient"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	token     = "intake-secret-0123456789"
	digestKey = "digest-secret-0123456789-0123456789"
	waitLimit = 120 * time.Second // bounds every wait for something that must happen
)

var _ saga.Participant = holdclient.Participant{} // the client is what the coordinator drives

// stack is both services in this process, on databases of their own, with a gate between them.
type stack struct {
	t        *testing.T
	intake   *outboxtest.Database
	registry *outboxtest.Database
	records  *registry.Service
	gate     *gate  // in front of the registry
	url      string // of the gate
	log      *journal
	settings saga.Settings
	heard    *downstream // nil if nobody listens
}

func newStack(t *testing.T, change ...func(*saga.Settings)) *stack {
	t.Helper()
	s := &stack{t: t, intake: outboxtest.NewDatabase(t), registry: outboxtest.NewDatabase(t), log: &journal{}}
	for _, c := range change {
		c(&s.settings)
	}
	if err := intake.Install(t.Context(), s.intake.Pool); err != nil {
		t.Fatal(err)
	}
	if err := registry.Install(t.Context(), s.registry.Pool); err != nil {
		t.Fatal(err)
	}
	s.serveRegistry(s.registry.Pool)
	t.Cleanup(s.wantNoSecrets)
	return s
}

// serveRegistry starts the registry on a pool, behind the gate.
func (s *stack) serveRegistry(pool *pgxpool.Pool) {
	s.t.Helper()
	var err error
	s.records, err = registry.New(pool, registry.Config{Token: holdhttp.HashToken(token), Logger: s.log.logger()})
	if err != nil {
		s.t.Fatal(err)
	}
	if s.gate == nil {
		s.gate = newGate(s.records)
		s.url = s.serve(s.gate)
		return
	}
	s.gate.lead(s.records)
}

func (s *stack) serve(handler http.Handler) string {
	s.t.Helper()
	server := httptest.NewServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.t.Cleanup(server.Close)
	return server.URL
}

// replica is a process of the intake, as far as one can be had in this one: its state is its own.
type replica struct {
	*intake.Service
	s    *stack
	pool *pgxpool.Pool
	gate *gate // between the client and the intake
	url  string
}

// replica starts a fresh intake. It reconciles and reaps only when it is told to.
func (s *stack) replica() *replica { return s.replicaAt(s.intake.URL) }

func (s *stack) replicaAt(database string) *replica {
	s.t.Helper()
	pool := outboxtest.NewPool(s.t, database)
	client, err := holdclient.New(holdclient.Config{URL: s.url, Token: holdclient.StaticToken(token), Backoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(client.Close)
	keys, err := saga.NewKeys("k1", map[string][]byte{"k1": []byte(digestKey)})
	if err != nil {
		s.t.Fatal(err)
	}
	service, err := intake.New(pool, intake.Config{Registry: client, RegistryURL: s.url, Keys: keys, Settings: s.settings, Logger: s.log.logger()})
	if err != nil {
		s.t.Fatal(err)
	}
	r := &replica{Service: service, s: s, pool: pool, gate: newGate(service)}
	r.url = s.serve(r.gate)
	return r
}

// draft makes one that lives for an hour.
func (s *stack) draft() uuid.UUID {
	s.t.Helper()
	id := uuid.New()
	s.exec(s.intake, `INSERT INTO draft VALUES ($1, clock_timestamp() + interval '1 h')`, id)
	return id
}

// steps are those of form, in their order.
var steps = []string{"person:0", "household", "member:0", "person:1", "member:1", "income:0", "income:1", "asset:0"}

// events are what the registry stages for each kind.
var events = map[string]int{"person": 2, "household": 1, "member": 1, "income": 1, "asset": 1}

// form is what the applicant sends. The mark is in every text that is personal.
func form() intake.Form {
	return intake.Form{
		Address: "SECRET-Lane 1", Consent: true,
		Members: []intake.Member{{Name: "SECRET-Ada", Born: "1990-01-02", Role: "head"}, {Name: "SECRET-Bo", Born: "2015-03-04", Role: "child"}},
		Incomes: []intake.Amount{{Owner: 0, Kind: "SECRET-wage", Amount: "1200.50"}, {Owner: 1, Kind: "SECRET-grant", Amount: "80.00"}},
		Assets:  []intake.Amount{{Owner: 0, Kind: "SECRET-flat", Amount: "90000"}},
	}
}

// answer is what a client gets.
type answer struct {
	status int
	body   string
	header http.Header
}

// finalize sends the form once.
func (r *replica) finalize(id uuid.UUID) answer {
	r.s.t.Helper()
	got, err := post(r.s.t.Context(), r.url, id, form())
	if err != nil {
		r.s.t.Fatalf("finalize: %v", err)
	}
	return got
}

func post(ctx context.Context, url string, id uuid.UUID, form intake.Form) (answer, error) {
	body, err := json.Marshal(form)
	if err != nil {
		return answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/drafts/"+id.String()+"/finalize", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(text), response.Header}, err
}

// finish repeats until the application is there, as a patient client does.
func (r *replica) finish(id uuid.UUID) answer {
	r.s.t.Helper()
	var got answer
	r.s.until("the application is filed", func() bool {
		got = r.finalize(id)
		return got.status == http.StatusOK
	})
	return got
}

func (r *replica) want(id uuid.UUID, status int) answer {
	r.s.t.Helper()
	got := r.finalize(id)
	if got.status != status {
		r.s.t.Fatalf("answer is %d %s, want %d", got.status, got.body, status)
	}
	return got
}

func (r *replica) tick() *saga.Report {
	r.s.t.Helper()
	report, err := r.Coordinator().Tick(r.s.t.Context())
	if err != nil {
		r.s.t.Fatalf("tick: %v", err)
	}
	return report
}

func (s *stack) exec(db *outboxtest.Database, sql string, args ...any) {
	s.t.Helper()
	outboxtest.Exec(s.t, db.Pool, sql, args...)
}

func read[T any](s *stack, db *outboxtest.Database, sql string, args ...any) T {
	s.t.Helper()
	return outboxtest.One[T](s.t, db.Pool, sql, args...)
}

func list[T any](s *stack, db *outboxtest.Database, sql string, args ...any) []T {
	s.t.Helper()
	return outboxtest.All[T](s.t, db.Pool, sql, args...)
}

// age makes the lease of an operation over for that long, and its next attempt due: the clock that
// judges is that of the database.
func (s *stack) age(id uuid.UUID, over string) {
	s.t.Helper()
	s.exec(s.intake, `UPDATE outbox.saga_operation
		SET lease_expires_at = CASE WHEN lease_holder IS NULL THEN NULL ELSE clock_timestamp() - $2::interval END,
		    next_attempt_at = clock_timestamp() - interval '1 s' WHERE operation_id = $1`, id, over)
}

// free lets any replica lead the reconciliation.
func (s *stack) free() {
	s.t.Helper()
	s.exec(s.intake, `UPDATE outbox.saga_reconciler SET lease_token = NULL, lease_until = NULL`)
}

func (s *stack) until(what string, is func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(waitLimit); !is(); {
		if time.Now().After(deadline) {
			s.t.Fatalf("never happened: %s\n%s", what, s.log)
		}
		time.Sleep(2 * time.Millisecond) // between two looks, not instead of one
	}
}

func wait[T any](s *stack, what string, ch <-chan T) T {
	s.t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(waitLimit):
		s.t.Fatalf("never happened: %s\n%s", what, s.log)
		panic("not reached")
	}
}

// async runs a client beside the test.
func async(f func() answer) <-chan answer {
	ch := make(chan answer, 1)
	go func() { ch <- f() }()
	return ch
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }
