package holdhttp_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// waitLimit bounds every wait for something that must happen.
const waitLimit = 90 * time.Second

// The callers of the tests, and their tokens.
const (
	checkout = "checkout-secret-0123456789" // a service on the list
	billing  = "billing-secret-0123456789"  // another one
	stranger = "stranger-secret-012345678"  // a service that is not
	visitor  = "visitor-secret-0123456789"  // on the list, and no service
	alice    = "alice-secret-01234567890"   // an operator
)

func tokens(t testing.TB) *holdhttp.Tokens {
	t.Helper()
	token := func(text, name string, roles ...string) holdhttp.Token {
		return holdhttp.Token{SHA256: holdhttp.HashToken(text), Caller: holdhttp.Caller{Name: name, Roles: roles}}
	}
	all, err := holdhttp.NewTokens(token(checkout, "checkout", "service"), token(billing, "billing", "reader", "service"),
		token(stranger, "stranger", "service"), token(visitor, "visitor", "reader"), token(alice, "alice", "hold-operator"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// testBundle is a database, the surface over HTTP, and an operation that nobody knows yet.
type testBundle struct {
	*outboxtest.Database
	url    string
	log    *outboxtest.Log
	client *http.Client
	hold   outbox.Hold
}

// setup serves the surface with the static tokens; change may alter its settings.
func setup(t testing.TB, change ...func(*holdhttp.Config)) *testBundle {
	t.Helper()
	b := &testBundle{Database: outboxtest.NewDatabase(t), log: &outboxtest.Log{}}
	b.serve(t, nil, change...)
	return b.another()
}

// serve starts a server for the database, with the handler behind wrap if it is given.
func (b *testBundle) serve(t testing.TB, wrap func(http.Handler) http.Handler, change ...func(*holdhttp.Config)) {
	t.Helper()
	var handler http.Handler = b.handler(t, change...)
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(b.log, nil), slog.LevelError)
	b.url, b.client = server.URL, &http.Client{Transport: &http.Transport{}, Timeout: waitLimit}
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		server.Close()
		for _, secret := range []string{checkout, billing, stranger, visitor, alice} {
			if strings.Contains(b.log.String(), secret) {
				t.Errorf("the log has the token %s:\n%s", secret, b.log)
			}
		}
	})
}

func (b *testBundle) handler(t testing.TB, change ...func(*holdhttp.Config)) *holdhttp.Handler {
	t.Helper()
	cfg := holdhttp.Config{
		Authenticators: []holdhttp.Authenticator{tokens(t)}, Callers: []string{"checkout", "billing", "visitor"},
		OperatorRole: "hold-operator", Rate: 1e6, Burst: 1e6,
		Logger: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&cfg)
	}
	handler, err := holdhttp.New(b.Pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// another is another operation at the same surface.
func (b *testBundle) another() *testBundle {
	a := *b
	a.hold = outbox.Hold{Operation: uuid.New(), Generation: 1}
	return &a
}

func (b *testBundle) generation(n int) outbox.Hold {
	return outbox.Hold{Operation: b.hold.Operation, Generation: n}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// send makes a request; edit may change it.
func (b *testBundle) send(t testing.TB, token, method, path, body string, edit ...func(*http.Request)) (answer, error) {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, b.url+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for _, e := range edit {
		e(request)
	}
	response, err := b.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, errors.Join(err, response.Body.Close())
}

func (b *testBundle) call(t testing.TB, token, method, path, body string, edit ...func(*http.Request)) answer {
	t.Helper()
	got, err := b.send(t, token, method, path, body, edit...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

func (b *testBundle) post(t testing.TB, token string, h outbox.Hold, verb string) answer {
	t.Helper()
	return b.call(t, token, http.MethodPost, wire.VerbPath(h, verb), "")
}

func (b *testBundle) get(t testing.TB, token string) answer {
	t.Helper()
	return b.call(t, token, http.MethodGet, wire.OperationPath(b.hold.Operation), "")
}

// wantProblem checks an answer that is no success, and returns its body.
func wantProblem(t testing.TB, got answer, status int, kind wire.ProblemType) wire.Problem {
	t.Helper()
	var p wire.Problem
	if err := json.Unmarshal([]byte(got.body), &p); err != nil {
		t.Fatalf("answer %d is no problem: %q", got.status, got.body)
	}
	if got.status != status || p.Status != status || p.Type != kind || got.header.Get("Content-Type") != wire.ProblemContentType {
		t.Errorf("answer is %d %s: %s, want %d %s", got.status, got.header.Get("Content-Type"), got.body, status, kind)
	}
	if p.Title == "" || p.Detail == "" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("problem without title, detail or header: %s, %v", got.body, got.header)
	}
	return p
}

// wantAnswer checks a success, and decodes its body.
func wantAnswer[T any](t testing.TB, got answer) T {
	t.Helper()
	var into T
	if got.status != http.StatusOK || got.header.Get("Content-Type") != wire.JSONType {
		t.Fatalf("answer is %d %s: %s", got.status, got.header.Get("Content-Type"), got.body)
	}
	if got.header.Get("Cache-Control") != "no-store" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("answer without a header: %v", got.header)
	}
	decoder := json.NewDecoder(strings.NewReader(got.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&into); err != nil {
		t.Fatalf("%q: %v", got.body, err)
	}
	return into
}

// stage stages n held events.
func (b *testBundle) stage(t testing.TB, h outbox.Hold, n int) {
	t.Helper()
	query[int](t, b, `SELECT outbox.publish_events_held($1, $2, array_agg('e' || i), array_agg('/test'::text), array_agg('thing.made'::text),
		array_agg(none), array_agg(none), array_agg(none), array_agg(none), array_agg(none), array_agg(none), array_agg('SECRET'::bytea))
		FROM generate_series(1, $3) i, (SELECT NULL::text AS none) AS n`, h.Operation.String(), h.Generation, n)
}

func (b *testBundle) register(t testing.TB, by string) {
	t.Helper()
	if _, err := hold.Register(t.Context(), b.Pool, b.hold, by); err != nil {
		t.Fatal(err)
	}
}

func query[T any](t testing.TB, b *testBundle, sql string, args ...any) []T {
	t.Helper()
	return outboxtest.All[T](t, b.Pool, sql, args...)
}

// audit returns what was done to the operation: generation, action, actor and reason.
func (b *testBundle) audit(t testing.TB) []string {
	t.Helper()
	return query[string](t, b, `SELECT generation || ' ' || action || ' ' || actor || coalesce(' ' || reason, '')
		FROM outbox.hold_audit WHERE operation_id = $1 ORDER BY id`, b.hold.Operation)
}

// sent counts the events that are in the log, and held those that wait.
func (b *testBundle) events(t testing.TB) (sent, held int) {
	t.Helper()
	const sql = `SELECT count(*) FROM outbox.event_outbox WHERE hold_operation_id = $1 AND (tx IS NOT NULL) = $2`
	return query[int](t, b, sql, b.hold.Operation, true)[0], query[int](t, b, sql, b.hold.Operation, false)[0]
}
