package holdhttp_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

// stubborn is a compensator that does not come back before it is let go.
type stubborn struct{ reached, leave chan struct{} }

func (s *stubborn) Lock(context.Context, pgx.Tx, hold.Receipt) error { return nil }

func (s *stubborn) Undo(context.Context, pgx.Tx, hold.Receipt) (hold.Fate, error) {
	close(s.reached)
	<-s.leave
	return hold.Undone(), nil
}

// Calls take turns at the database: one that gets none in its time has no outcome, and a turn is free when
// its call has ended. Whoever is not known takes none.
func TestCallsTakeTurns(t *testing.T) {
	t.Parallel()
	s := &stubborn{make(chan struct{}), make(chan struct{})}
	b := setup(t, func(c *holdhttp.Config) { c.Compensator, c.Concurrent, c.Timeout = s, 1, 8*time.Second })
	b.register(t, "checkout")
	b.applied(t, "alone")
	done := make(chan error, 1)
	go func() {
		_, err := b.send(t, checkout, http.MethodPost, wire.VerbPath(b.hold, wire.Cancel), "")
		done <- err
	}()
	select {
	case <-s.reached:
	case err := <-done:
		t.Fatalf("the first call never had its turn: %v", err)
	}
	wantProblem(t, b.get(t, billing), http.StatusServiceUnavailable, wire.Unavailable)
	wantProblem(t, b.get(t, "guess"), http.StatusUnauthorized, wire.Unauthenticated)
	close(s.leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	for range 3 { // more calls than there are turns
		eventually(t, "a call has a turn", func() bool { return b.get(t, billing).status == http.StatusOK })
	}
}

// halved is a response that panics in the middle of its first answer.
type halved struct {
	http.ResponseWriter
	panicked *atomic.Bool
}

func (h halved) Write(p []byte) (int, error) {
	if h.panicked.CompareAndSwap(false, true) {
		if n, err := h.ResponseWriter.Write(p[:len(p)/2]); err != nil {
			return n, err
		}
		panic("in the middle")
	}
	return h.ResponseWriter.Write(p)
}

// Half an answer ends with its connection, and is not filled up with a problem.
func TestHalfAnAnswerIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, checkout, b.hold, wire.Register)
	var panicked atomic.Bool
	b.serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(halved{w, &panicked}, r) })
	})
	if got, err := b.send(t, checkout, http.MethodPost, wire.VerbPath(b.hold, wire.Release), ""); err == nil || !panicked.Load() {
		t.Errorf("half an answer: %+v, %v", got, err)
	}
	if got := wantAnswer[wire.Answer](t, b.post(t, checkout, b.hold, wire.Release)); got.State != "released" || got.Changed {
		t.Errorf("the answer again: %+v", got)
	}
}

// aborting is an authenticator of somebody who ends connections.
type aborting struct{}

func (aborting) Authenticate(*http.Request) (holdhttp.Caller, error) { panic(http.ErrAbortHandler) }

// What ends a connection on purpose is let through.
func TestAbortEndsTheConnection(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *holdhttp.Config) { c.Authenticators = []holdhttp.Authenticator{aborting{}} })
	if got, err := b.send(t, checkout, http.MethodPost, wire.VerbPath(b.hold, wire.Release), ""); err == nil {
		t.Errorf("answer is %+v", got)
	}
}

// The rest of a body that is too long is not read: the connection ends with the answer.
func TestRefusedBodyEndsTheConnection(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *holdhttp.Config) { c.MaxBody = 10 })
	for _, c := range []struct {
		body  string
		close bool
	}{{`{"reason":"too long"}`, true}, {`{}`, false}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+wire.VerbPath(b.hold, wire.Cancel), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+checkout)
		request.Header.Set("Content-Type", wire.JSONType)
		reader, writer := io.Pipe()
		request.Body, request.ContentLength = reader, -1
		go func() {
			_, _ = io.WriteString(writer, c.body) // as much as is taken
			_ = writer.Close()
		}()
		response, err := b.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if response.Close != c.close {
			t.Errorf("%s: the connection ends: %v", c.body, response.Close)
		}
	}
}
