package holdclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/holdclient"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// refusing is a surface that answers with a problem wherever a path ends in one of the verbs. It is about a
// generation, or about the one of the path if that is the zero value.
func refusing(p wire.Problem, about outbox.Hold, asked *atomic.Int64, next http.Handler, verbs ...string) http.Handler {
	p.State = p.Type.StateOf()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, verb := range verbs {
			h := about
			if path := strings.Split(r.URL.Path, "/"); path[len(path)-1] != verb {
				continue
			} else if h == (outbox.Hold{}) {
				h.Operation, _ = wire.ParseOperation(path[len(path)-3])
				h.Generation, _ = wire.ParseGeneration(path[len(path)-2])
			}
			asked.Add(1)
			answer := p
			answer.Operation, answer.Generation = &h.Operation, h.Generation
			_ = answer.Write(w) // to a client that waits for it
			return
		}
		next.ServeHTTP(w, r)
	})
}

// TestProblemsAsACoordinatorJudgesThem: each type of problem has one meaning, over HTTP as it has in the participant.
func TestProblemsAsACoordinatorJudgesThem(t *testing.T) {
	t.Parallel()
	want := map[wire.ProblemType]saga.Judgement{
		wire.GenerationCancelled: saga.Refused, wire.GenerationReleased: saga.Refused, wire.GenerationUnknown: saga.Refused,
		wire.GenerationSuperseded: saga.Refused, wire.StepConflict: saga.Refused,
		wire.OperationUnknown: saga.Terminal, wire.StepInvalid: saga.Terminal, wire.RequestInvalid: saga.Terminal,
		wire.RequestTooLarge: saga.Terminal, wire.MediaType: saga.Terminal, wire.RouteUnknown: saga.Terminal, wire.MethodNotAllowed: saga.Terminal,
		wire.RequestTooSlow: saga.Retry, wire.Unauthenticated: saga.Retry, wire.CallerNotAllowed: saga.Retry, wire.NotPrincipal: saga.Retry,
		wire.RateLimited: saga.Retry, wire.CompensationIncomplete: saga.Retry, wire.Unavailable: saga.Retry, wire.Internal: saga.Retry,
	}
	h := outbox.Hold{Operation: uuid.New(), Generation: 3}
	for _, kind := range wire.ProblemTypes() {
		problem := wire.NewProblem(kind)
		problem.MaxGeneration = 5
		var asked atomic.Int64
		address := serve(t, refusing(problem, h, &asked, nil, wire.Register, wire.Release, wire.Cancel))
		p := holdclient.Participant{Client: dial(t, address, func(c *holdclient.Config) { c.Attempts = 1 })}
		for verb, err := range map[string]error{
			wire.Register: second(p.Register(t.Context(), h)), wire.Release: second(p.Release(t.Context(), h)), wire.Cancel: second(p.Cancel(t.Context(), h)),
		} {
			if got := saga.Judge(err); got != want[kind] {
				t.Errorf("%s to a %s is %q, want %q: %v", kind, verb, got, want[kind], err)
			}
			var refused *outbox.HoldRefusedError
			is := errors.As(err, &refused)
			if is != (kind.StateOf() != "") || is && *refused != (outbox.HoldRefusedError{Operation: h.Operation, Generation: 3, State: kind.StateOf(), MaxGeneration: 5}) {
				t.Errorf("%s to a %s is the refusal %+v", kind, verb, refused)
			}
		}
	}
}

// TestProblemAboutSomethingElseIsNoAnswer: a refusal of another operation, or of another generation, says nothing
// about this one. A coordinator would go by its state, and by its highest generation.
func TestProblemAboutSomethingElseIsNoAnswer(t *testing.T) {
	t.Parallel()
	h := outbox.Hold{Operation: uuid.New(), Generation: 3}
	key, err := receipt.ParseStepKey("person")
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []outbox.Hold{{Operation: uuid.New(), Generation: 3}, {Operation: h.Operation, Generation: 2}} {
		var asked atomic.Int64
		address := serve(t, refusing(wire.NewProblem(wire.GenerationSuperseded), other, &asked, nil, wire.Register, wire.Release, wire.Cancel, "persons"))
		p := holdclient.Participant{Client: dial(t, address)}
		for verb, err := range map[string]error{
			wire.Register: second(p.Register(t.Context(), h)), wire.Release: second(p.Release(t.Context(), h)), wire.Cancel: second(p.Cancel(t.Context(), h)),
		} {
			var refused *outbox.HoldRefusedError
			if !errors.Is(err, holdclient.ErrUnknownOutcome) || errors.As(err, &refused) || saga.Judge(err) != saga.Retry {
				t.Errorf("%s: %v", verb, err)
			}
		}
		if n := asked.Load(); n != 12 {
			t.Errorf("%d calls", n)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/persons", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := p.Client.Do(request, wire.Step{Operation: h.Operation, Generation: h.Generation, Key: key})
		if err == nil {
			err = response.Body.Close()
		}
		if err == nil || saga.Judge(err) != saga.Retry {
			t.Errorf("a write: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestReleasedElsewhereIsNoNextGeneration: a coordinator takes the next generation after one that was cancelled or
// is unknown to a participant, and never after one that a participant has released.
func TestReleasedElsewhereIsNoNextGeneration(t *testing.T) {
	t.Parallel()
	for _, w := range []struct {
		kind       wire.ProblemType
		want       error
		generation int
	}{
		{wire.GenerationReleased, saga.ErrGenerationClosed, 1},
		{wire.GenerationSuperseded, saga.ErrGenerationClosed, 6}, // 5 is refused too
		{wire.NotPrincipal, holdclient.ErrNotPrincipal, 1},
	} {
		t.Run(string(w.kind), func(t *testing.T) {
			t.Parallel()
			p := newParticipant(t)
			problem := wire.NewProblem(w.kind)
			problem.MaxGeneration = 4
			var asked atomic.Int64
			client := dial(t, serve(t, refusing(problem, outbox.Hold{}, &asked, p.handler, wire.Register)))
			b := outboxtest.NewDatabase(t)
			store, err := saga.New(saga.Config{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := saga.NewCoordinator(b.Pool, store, map[string]saga.Participants{"order": {"persons": holdclient.Participant{Client: client}}},
				saga.Options{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			won := claimed(t, c, p.hold.Operation)
			_, err = c.Run(t.Context(), won, saga.Work{Final: func(context.Context, pgx.Tx, map[string]string) (json.RawMessage, error) {
				t.Error("it went on to the final transaction")
				return json.RawMessage(`{}`), nil
			}})
			if !errors.Is(err, w.want) {
				t.Errorf("run: %v", err)
			}
			var generation int
			if err := b.Pool.QueryRow(t.Context(), `SELECT generation FROM outbox.saga_operation`).Scan(&generation); err != nil || generation != w.generation {
				t.Errorf("generation is %d, %v, want %d after %d calls", generation, err, w.generation, asked.Load())
			}
		})
	}
}

// claimed is an operation without a subject of its own.
func claimed(t *testing.T, c *saga.Coordinator, id uuid.UUID) saga.Won {
	t.Helper()
	keys, err := saga.NewKeys("k", map[string][]byte{"k": make([]byte, saga.MinDigestKey)})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := keys.Digest("order", 1)
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := c.ClaimOrResume(t.Context(), saga.Request{ID: id, Kind: "order", Basis: json.RawMessage(`{}`), Digest: digest,
		Subject: func(context.Context, pgx.Tx) (bool, error) { return true, nil },
		Result:  func(context.Context, pgx.Tx) (json.RawMessage, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	won, is := outcome.(saga.Won)
	if !is {
		t.Fatalf("claim is %s", outcome.Name())
	}
	return won
}
