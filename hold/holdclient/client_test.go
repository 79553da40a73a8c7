package holdclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/holdclient"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

func TestCallsOfACoordinator(t *testing.T) {
	t.Parallel()
	p := newParticipant(t)
	c := dial(t, serve(t, p.handler))
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	registered, err := c.Register(t.Context(), p.hold, holdclient.Expiry{At: at, Then: hold.CancelOnExpiry})
	if err != nil || registered.State != "active" || !registered.Changed {
		t.Fatalf("register: %+v, %v", registered, err)
	}
	if g, err := hold.State(t.Context(), p.Pool, p.hold); err != nil || !g.ExpiresAt.Equal(at) || g.OnExpiry != hold.CancelOnExpiry {
		t.Errorf("generation is %+v, %v", g, err)
	}
	released, err := c.Release(t.Context(), p.hold, "paid")
	if err != nil || released.State != "released" {
		t.Errorf("release: %+v, %v", released, err)
	}
	next := outbox.Hold{Operation: p.hold.Operation, Generation: 2}
	cancelled, err := c.Cancel(t.Context(), next, "")
	if err != nil || cancelled.State != "cancelled" || cancelled.Quarantined == nil {
		t.Errorf("cancel: %+v, %v", cancelled, err)
	}
	page, err := c.Get(t.Context(), p.hold.Operation, 0)
	if err != nil || len(page.Generations) != 2 || page.Generations[0].State != "released" {
		t.Errorf("get: %+v, %v", page, err)
	}
	if page, err := c.Get(t.Context(), p.hold.Operation, 1); err != nil || len(page.Generations) != 1 {
		t.Errorf("get after 1: %+v, %v", page, err)
	}
}

// A coordinator drives participants by an interface.
func TestParticipantOfACoordinator(t *testing.T) {
	t.Parallel()
	p := newParticipant(t)
	var driven interface {
		Register(ctx context.Context, h outbox.Hold) (hold.Answer, error)
		Release(ctx context.Context, h outbox.Hold) (hold.Answer, error)
		Cancel(ctx context.Context, h outbox.Hold) (hold.Answer, error)
	} = holdclient.Participant{Client: dial(t, serve(t, p.handler)), Reason: "because"}
	if got, err := driven.Register(t.Context(), p.hold); err != nil || got != (hold.Answer{State: hold.Active, MaxGeneration: 1, Changed: true}) {
		t.Errorf("register: %+v, %v", got, err)
	}
	if got, err := driven.Release(t.Context(), p.hold); err != nil || got != (hold.Answer{State: hold.Released, MaxGeneration: 1, Changed: true}) {
		t.Errorf("release: %+v, %v", got, err)
	}
	_, err := driven.Cancel(t.Context(), p.hold)
	var status interface {
		error
		StatusCode() int
	}
	if !errors.Is(err, outbox.ErrGenerationReleased) || !errors.As(err, &status) || status.StatusCode() != http.StatusConflict {
		t.Errorf("cancel: %v", err)
	}
	if g, err := hold.State(t.Context(), p.Pool, p.hold); err != nil || g.Reason != "because" {
		t.Errorf("generation is %+v, %v", g, err)
	}
}

// A refusal is final: it is not repeated, and its type says what it is.
func TestRefusalsAreTyped(t *testing.T) {
	t.Parallel()
	p := newParticipant(t)
	handler, requests := first(0, nil, p.handler)
	address := serve(t, handler)
	c, other := dial(t, address), dial(t, address, func(c *holdclient.Config) { c.Token = holdclient.StaticToken(intruder) })
	lost := dial(t, address+"/elsewhere")
	nobody := dial(t, address, func(c *holdclient.Config) { c.Token = nil })
	second := outbox.Hold{Operation: p.hold.Operation, Generation: 2}
	unknown := outbox.Hold{Operation: uuid.New(), Generation: 1}
	released, cancelled := unknown, outbox.Hold{Operation: uuid.New(), Generation: 1}
	released.Operation = uuid.New()
	call := func(h outbox.Hold) (err error) { _, err = c.Register(t.Context(), h, holdclient.Expiry{}); return err }
	if err := errors.Join(call(p.hold), call(second), call(released)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Release(t.Context(), released, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Cancel(t.Context(), cancelled, ""); err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]struct {
		call   func() error
		target error
		state  string
	}{
		"cancelled":  {func() error { _, err := c.Release(t.Context(), cancelled, ""); return err }, outbox.ErrGenerationCancelled, "cancelled"},
		"released":   {func() error { _, err := c.Cancel(t.Context(), released, ""); return err }, outbox.ErrGenerationReleased, "released"},
		"unknown":    {func() error { _, err := c.Release(t.Context(), unknown, ""); return err }, outbox.ErrGenerationUnknown, "unknown"},
		"superseded": {func() error { _, err := c.Release(t.Context(), p.hold, ""); return err }, outbox.ErrGenerationSuperseded, "superseded"},
		"not found":  {func() error { _, err := c.Get(t.Context(), unknown.Operation, 0); return err }, holdclient.ErrNotFound, ""},
		"no surface": {func() error { _, err := lost.Get(t.Context(), p.hold.Operation, 0); return err }, holdclient.ErrAddress, ""},
		"invalid":    {func() error { _, err := c.Release(t.Context(), second, strings.Repeat("x", 2000)); return err }, holdclient.ErrInvalid, ""},
		"another's":  {func() error { _, err := other.Cancel(t.Context(), second, ""); return err }, holdclient.ErrNotPrincipal, ""},
		"forbidden":  {func() error { _, err := other.Cancel(t.Context(), second, ""); return err }, holdclient.ErrForbidden, ""},
		"nobody":     {func() error { _, err := nobody.Get(t.Context(), p.hold.Operation, 0); return err }, holdclient.ErrUnauthenticated, ""},
	} {
		before := requests.Load()
		err := w.call()
		var problem *holdclient.ProblemError
		if !errors.Is(err, w.target) || !errors.As(err, &problem) || problem.State != w.state || problem.Hint() == "" {
			t.Errorf("%s: error is %v with %+v", name, err, problem)
		}
		var refused *outbox.HoldRefusedError // what a coordinator looks for
		if errors.As(err, &refused) != (w.state != "") || refused != nil && (refused.State != w.state || refused.Operation == uuid.Nil) {
			t.Errorf("%s: refusal is %+v", name, refused)
		}
		if errors.Is(err, holdclient.ErrUnknownOutcome) || requests.Load() != before+1 {
			t.Errorf("%s: %d requests, error %v", name, requests.Load()-before, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has a token: %v", name, err)
		}
	}
}

// lost lets a call be made and commit, and loses its answer.
func lost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
}

func TestUnknownOutcomesAreRepeated(t *testing.T) {
	t.Parallel()
	p := newParticipant(t)
	foreign := `{"operation":"` + uuid.NewString() + `","generation":1,"state":"active"}`
	for name, fault := range map[string]http.Handler{
		"the answer is lost": lost(p.handler),
		"not now":            answering(503, wire.ProblemContentType, `{"type":"urn:holdfast:problem:unavailable"}`),
		"a proxy is in pain": answering(502, "text/html", "<html>"),
		"a bug":              answering(500, wire.ProblemContentType, `{"type":"urn:holdfast:problem:internal"}`),
		"too many calls":     answering(429, wire.ProblemContentType, `{"type":"urn:holdfast:problem:rate-limited"}`),
		"a page for a login": answering(200, "text/html", "<html>"),
		"no JSON":            answering(200, wire.JSONType, "{"),
		"empty":              answering(200, wire.JSONType, "{}"),
		"another operation":  answering(200, wire.JSONType, foreign),
		"no content":         answering(204, wire.JSONType, ""),
	} {
		h := outbox.Hold{Operation: uuid.New(), Generation: 1}
		handler, requests := first(2, fault, p.handler)
		c := dial(t, serve(t, handler))
		got, err := c.Register(t.Context(), h, holdclient.Expiry{})
		if err != nil || got.State != "active" || requests.Load() != 3 {
			t.Errorf("%s: %+v, %v after %d requests", name, got, err, requests.Load())
		}
		if changed := name != "the answer is lost"; got.Changed != changed {
			t.Errorf("%s: changed is %v", name, got.Changed)
		}
	}
}

func TestOutcomeThatStaysUnknown(t *testing.T) {
	t.Parallel()
	p := newParticipant(t)
	handler, requests := first(100, lost(p.handler), nil)
	c := dial(t, serve(t, handler))
	_, err := c.Cancel(t.Context(), p.hold, "")
	if !errors.Is(err, holdclient.ErrUnknownOutcome) || requests.Load() != 4 {
		t.Errorf("error is %v after %d requests", err, requests.Load())
	}
	if g, err := hold.State(t.Context(), p.Pool, p.hold); err != nil || g.State != hold.Cancelled {
		t.Errorf("generation is %+v, %v", g, err)
	}
	nobody := dial(t, "http://127.0.0.1:1")
	if _, err := nobody.Cancel(t.Context(), p.hold, ""); !errors.Is(err, holdclient.ErrUnknownOutcome) {
		t.Errorf("nobody there: %v", err)
	}
	released := answering(200, wire.JSONType, `{"operation":"`+p.hold.Operation.String()+`","generation":1,"state":"cancelled"}`)
	if _, err := dial(t, serve(t, released)).Release(t.Context(), p.hold, ""); !errors.Is(err, holdclient.ErrUnknownOutcome) {
		t.Errorf("a success without its effect: %v", err)
	}
	pending := answering(503, wire.ProblemContentType, `{"type":"urn:holdfast:problem:compensation-incomplete","pending":2}`)
	_, err = dial(t, serve(t, pending)).Cancel(t.Context(), p.hold, "")
	var problem *holdclient.ProblemError
	if !errors.Is(err, holdclient.ErrUnknownOutcome) || !errors.As(err, &problem) || problem.Type != wire.CompensationIncomplete || problem.Pending != 2 {
		t.Errorf("compensation: %v", err)
	}
}

// The pause that the participant asks for is kept, unless it is too long: then the call ends
// with it.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	p := newParticipant(t)
	limited := func(after string) http.Handler {
		return answering(429, wire.ProblemContentType, `{"type":"urn:holdfast:problem:rate-limited"}`, "Retry-After", after)
	}
	handler, _ := first(1, limited("1"), p.handler)
	begun := time.Now()
	if _, err := dial(t, serve(t, handler)).Register(t.Context(), p.hold, holdclient.Expiry{}); err != nil {
		t.Errorf("register: %v", err)
	}
	if waited := time.Since(begun); waited < time.Second {
		t.Errorf("it was repeated after %s", waited)
	}
	handler, requests := first(100, limited("3600"), nil)
	_, err := dial(t, serve(t, handler)).Register(t.Context(), p.hold, holdclient.Expiry{})
	var problem *holdclient.ProblemError
	if !errors.As(err, &problem) || problem.RetryAfter != time.Hour || !errors.Is(err, holdclient.ErrRateLimited) || requests.Load() != 1 {
		t.Errorf("error is %v with %+v after %d requests", err, problem, requests.Load())
	}
	if errors.Is(err, holdclient.ErrUnknownOutcome) {
		t.Errorf("a call that was turned away is unknown: %v", err)
	}
}

func TestCallEndsWithItsContextAndItsTimeout(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 10)
	silent := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body) // only then the server sees that the client leaves
		entered <- struct{}{}
		if err == nil {
			<-r.Context().Done()
		}
	})
	address := serve(t, silent)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	_, err := dial(t, address).Release(ctx, outbox.Hold{Operation: uuid.New(), Generation: 1}, "")
	if !errors.Is(err, context.Canceled) || !errors.Is(err, holdclient.ErrUnknownOutcome) {
		t.Errorf("cancelled: %v", err)
	}
	c := dial(t, address, func(c *holdclient.Config) { c.Timeout, c.Attempts = 50*time.Millisecond, 2 })
	_, err = c.Release(t.Context(), outbox.Hold{Operation: uuid.New(), Generation: 1}, "")
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, holdclient.ErrUnknownOutcome) {
		t.Errorf("silent: %v", err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere, seen := first(0, nil, answering(200, wire.JSONType, "{}"))
	target := serve(t, elsewhere)
	for _, status := range []int{301, 302, 307, 308} {
		c := dial(t, serve(t, answering(status, "text/plain", "", "Location", target)))
		_, err := c.Release(t.Context(), outbox.Hold{Operation: uuid.New(), Generation: 1}, "")
		var problem *holdclient.ProblemError
		if !errors.As(err, &problem) || problem.Status != status || problem.Type != "" || seen.Load() != 0 {
			t.Errorf("%d: error is %v, %d requests elsewhere", status, err, seen.Load())
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", wire.JSONType)
		if strings.HasSuffix(r.URL.Path, wire.Cancel) {
			w.Header().Set("Content-Type", wire.ProblemContentType)
			w.WriteHeader(http.StatusConflict)
		}
		chunk := []byte(strings.Repeat(" ", 1<<16))
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	c := dial(t, serve(t, endless), func(c *holdclient.Config) { c.Attempts = 1 })
	if _, err := c.Release(t.Context(), outbox.Hold{Operation: uuid.New(), Generation: 1}, ""); !errors.Is(err, holdclient.ErrUnknownOutcome) {
		t.Errorf("an endless answer: %v", err)
	}
	var problem *holdclient.ProblemError
	if _, err := c.Cancel(t.Context(), outbox.Hold{Operation: uuid.New(), Generation: 1}, ""); !errors.As(err, &problem) || problem.Type != "" {
		t.Errorf("an endless problem: %v", err)
	}
}

// A token that was replaced since it was read is read again, once.
func TestTokenIsReadAgain(t *testing.T) {
	t.Parallel()
	p := newParticipant(t)
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	replace := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		write(token + "\n")
		p.handler.ServeHTTP(w, r)
	})
	handler, requests := first(1, replace, p.handler)
	c := dial(t, serve(t, handler), func(c *holdclient.Config) { c.Token = holdclient.TokenFile(file) })
	if _, err := c.Register(t.Context(), p.hold, holdclient.Expiry{}); err != nil || requests.Load() != 2 {
		t.Errorf("register: %v after %d requests", err, requests.Load())
	}
	write(" ")
	if _, err := c.Register(t.Context(), p.hold, holdclient.Expiry{}); err == nil || requests.Load() != 2 {
		t.Errorf("an empty file: %v after %d requests", err, requests.Load())
	}
}

func TestStepIdentityTravelsWithAWrite(t *testing.T) {
	t.Parallel()
	var seen wire.Step
	service := holdhttp.WithStep(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var held bool
		if seen, held = holdhttp.StepOf(r.Context()); !held || r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusTeapot)
		}
		if seen.Generation == 2 {
			holdhttp.Refuse(w, &outbox.HoldRefusedError{Operation: seen.Operation, Generation: 2, State: outbox.StateCancelled, MaxGeneration: 2})
		}
	}))
	address := serve(t, service)
	c := dial(t, address)
	key, err := receipt.Indexed("member", 3)
	if err != nil {
		t.Fatal(err)
	}
	step := wire.Step{Operation: uuid.New(), Generation: 1, Key: key}
	send := func(to string, step wire.Step) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to+"/persons", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := c.Do(request, step)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	if err := send(address, step); err != nil || seen != step {
		t.Errorf("the service saw %+v, error %v", seen, err)
	}
	step.Generation = 2
	var problem *holdclient.ProblemError
	err = send(address, step)
	if !errors.Is(err, outbox.ErrGenerationCancelled) || !errors.As(err, &problem) || problem.Status != http.StatusGone || problem.MaxGeneration != 2 {
		t.Errorf("a refused write: %v", err)
	}
	nothing := serve(t, http.NotFoundHandler())
	c, step.Generation = dial(t, nothing), 1
	err = send(nothing, step)
	if !errors.As(err, &problem) || problem.Status != http.StatusNotFound || errors.Is(err, holdclient.ErrAddress) || strings.Contains(problem.Hint(), "control surface") {
		t.Errorf("a write that the service answers in its own words: %v, %s", err, problem.Hint())
	}
	c = dial(t, address)
	if err := send(strings.Replace(address, "127.0.0.1", "localhost", 1), step); err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("a write to somewhere else: %v", err)
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	for part, cfg := range map[string]holdclient.Config{
		"must be https://host":  {},
		"https://host":          {URL: "ftp://x"},
		"no credentials":        {URL: "https://u:hidden@x"},
		"neither a query":       {URL: "https://x?a=b"},
		"must be https, unless": {URL: "http://x.example.org"},
		"must be positive":      {URL: "https://x", Timeout: -1},
		"attempts":              {URL: "https://x", Attempts: -1},
		"not shorter":           {URL: "https://x", Backoff: 2, MaxBackoff: 1},
	} {
		_, err := holdclient.New(cfg)
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: error is %v", part, err)
		}
	}
	for _, cfg := range []holdclient.Config{{URL: "https://x/base/"}, {URL: "http://localhost:1"}, {URL: "http://[::1]:1"}, {URL: "http://x", Plaintext: true}} {
		if _, err := holdclient.New(cfg); err != nil {
			t.Errorf("%s: %v", cfg.URL, err)
		}
	}
}
