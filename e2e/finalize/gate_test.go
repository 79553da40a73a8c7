package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/wire"
)

// gate stands between a caller and a service. It notes what passes, and does something else where it is
// told to. Safe for concurrent use.
type gate struct {
	mu     sync.Mutex
	next   http.Handler
	rules  []*rule
	visits []visit
}

// visit is a request that came, and what it was answered; 0 if it was not.
type visit struct {
	operation uuid.UUID
	name      string // a step key, a verb of the surface, "finalize", or ""
	method    string
	path      string
	header    http.Header
	body      string
	status    int
	answer    string
}

// way is what happens to a request in place of being passed on.
type way func(w http.ResponseWriter, r *http.Request, next http.Handler)

// rule applies to the next requests of an operation with that name.
type rule struct {
	operation uuid.UUID
	name      string
	times     int // how often it applies
	way       way
	reached   chan struct{} // closed when it applies for the first time
	once      sync.Once
}

func newGate(next http.Handler) *gate { return &gate{next: next} }

// lead has the gate pass requests on to another handler.
func (g *gate) lead(next http.Handler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next = next
}

// on has the next requests of that name go that way. The channel is closed when the first one comes.
func (g *gate) on(operation uuid.UUID, name string, times int, w way) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &rule{operation: operation, name: name, times: times, way: w, reached: make(chan struct{})}
	g.rules = append(g.rules, r)
	return r.reached
}

// forget takes the rules of an operation away.
func (g *gate) forget(operation uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules = slices.DeleteFunc(g.rules, func(r *rule) bool { return r.operation == operation })
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	v := visit{method: r.Method, path: r.URL.Path, header: r.Header.Clone(), body: string(body)}
	v.operation, v.name = nameOf(r)
	g.mu.Lock()
	g.visits = append(g.visits, v)
	index := len(g.visits) - 1
	next, do := g.next, g.match(v)
	g.mu.Unlock()
	told := &teller{ResponseWriter: w}
	if do == nil {
		next.ServeHTTP(told, r)
	} else {
		do(told, r, next)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.visits[index].status, g.visits[index].answer = told.status, told.text.String()
}

// match takes one application of a rule. The caller holds mu.
func (g *gate) match(v visit) way {
	for _, r := range g.rules {
		if r.times > 0 && r.operation == v.operation && r.name == v.name {
			r.times--
			r.once.Do(func() { close(r.reached) })
			return r.way
		}
	}
	return nil
}

// nameOf says what a request is about.
func nameOf(r *http.Request) (operation uuid.UUID, name string) {
	if step, present, err := wire.ReadStep(r.Header); present && err == nil {
		return step.Operation, step.Key.String()
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for _, part := range parts {
		if id, err := uuid.Parse(part); err == nil {
			return id, parts[len(parts)-1]
		}
	}
	return uuid.Nil, ""
}

// of returns what came for an operation, in order.
func (g *gate) of(operation uuid.UUID) []visit {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []visit
	for _, v := range g.visits {
		if v.operation == operation {
			all = append(all, v)
		}
	}
	return all
}

// total counts all that came.
func (g *gate) total() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.visits)
}

func (g *gate) count(operation uuid.UUID, name string) (n int) {
	for _, v := range g.of(operation) {
		if v.name == name {
			n++
		}
	}
	return n
}

// refuse answers before the service has seen the request.
func refuse(status int) way {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { http.Error(w, "gate", status) }
}

// hang keeps the request from the service until its caller has gone.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// lose has the service do it, and cuts the connection before the answer.
func lose(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(discarded(), r)
	panic(http.ErrAbortHandler)
}

// late has the service do it, and keeps the answer until the caller has gone.
func late(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(discarded(), r)
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// discarded takes an answer that nobody gets.
func discarded() http.ResponseWriter { return httptest.NewRecorder() }

// stall keeps the request until the channel is closed, and then passes it on, also when its caller has
// gone: it was on its way.
func stall(open <-chan struct{}) way {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		<-open
		next.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
	}
}

// stallAnswer has the service do it, and keeps the answer until the channel is closed.
func stallAnswer(open <-chan struct{}) way {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		recorded := httptest.NewRecorder()
		next.ServeHTTP(recorded, r)
		<-open
		replay(w, recorded)
	}
}

// replay answers what was recorded.
func replay(w http.ResponseWriter, recorded *httptest.ResponseRecorder) {
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes()) // to a caller that may have gone
}

// teller remembers an answer.
type teller struct {
	http.ResponseWriter
	status int
	text   bytes.Buffer
}

func (t *teller) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *teller) Write(p []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	t.text.Write(p)
	return t.ResponseWriter.Write(p)
}

func (t *teller) Unwrap() http.ResponseWriter { return t.ResponseWriter }
