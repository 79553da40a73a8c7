package holdhttp_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// waitBlocked returns when n connections to the database wait for locks of others.
func (b *testBundle) waitBlocked(t testing.TB, n int) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for {
		blocked := query[int](t, b, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`)[0]
		if blocked >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections wait, want %d", blocked, n)
		}
		time.Sleep(time.Millisecond) // between two looks, not instead of one
	}
}

// openWrite keeps a held write open, which both decisions wait for, until the returned
// function commits it.
func (b *testBundle) openWrite(t testing.TB, h outbox.Hold) (commit func()) {
	t.Helper()
	tx, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(t.Context()) }) // it was committed
	rows, err := tx.Query(t.Context(), `SELECT outbox.publish_held($1, $2, '/test', 'thing.made')`, h.Operation.String(), h.Generation)
	if err == nil {
		_, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Exactly one wins, in whichever order they come, and the other is told which.
func TestReleaseAndCancelAtOnceHaveOneWinner(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, order := range [][2]string{{wire.Release, wire.Cancel}, {wire.Cancel, wire.Release}} {
		a := b.another()
		a.post(t, checkout, a.hold, wire.Register)
		a.stage(t, a.hold, 5)
		commit := a.openWrite(t, a.hold)
		var got [2]chan answer
		for i, verb := range order {
			got[i] = make(chan answer, 1)
			go func() {
				answered, err := a.send(t, checkout, http.MethodPost, wire.VerbPath(a.hold, verb), "")
				if err != nil {
					t.Error(err)
				}
				got[i] <- answered
			}()
			a.waitBlocked(t, i+1)
		}
		commit()
		answers := map[string]answer{order[0]: <-got[0], order[1]: <-got[1]}
		released, cancelled := answers[wire.Release], answers[wire.Cancel]
		sent, held := a.events(t)
		switch {
		case released.status == http.StatusOK:
			wantProblem(t, cancelled, http.StatusConflict, wire.GenerationReleased)
			if n := wantAnswer[wire.Answer](t, released).Released; n != 6 || sent != 6 || held != 0 {
				t.Errorf("released %d, %d sent, %d held", n, sent, held)
			}
		case cancelled.status == http.StatusOK:
			wantProblem(t, released, http.StatusConflict, wire.GenerationCancelled)
			if n := wantAnswer[wire.CancelAnswer](t, cancelled).Dropped; n != 6 || sent != 0 || held != 0 {
				t.Errorf("dropped %d, %d sent, %d held", n, sent, held)
			}
		default:
			t.Errorf("nobody won: %+v", answers)
		}
		if audit := a.audit(t); len(audit) != 2 {
			t.Errorf("audit has %v", audit)
		}
	}
}

// A release that waits for a writer longer than it may has no outcome, and changed nothing.
func TestCallThatTakesTooLongHasNoOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, checkout, b.hold, wire.Register)
	commit := b.openWrite(t, b.hold)
	slow := *b
	slow.serve(t, nil, func(c *holdhttp.Config) { c.Timeout = 2 * time.Second })
	got := slow.post(t, checkout, b.hold, wire.Release)
	wantProblem(t, got, http.StatusServiceUnavailable, wire.Unavailable)
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("retry after %q", got.header.Get("Retry-After"))
	}
	commit()
	if released := wantAnswer[wire.Answer](t, b.post(t, checkout, b.hold, wire.Release)); released.Released != 1 || !released.Changed {
		t.Errorf("release: %+v", released)
	}
}

// The caller goes away while its call waits: the call goes on, so that the repeated one is short.
func TestCallGoesOnWithoutItsCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, checkout, b.hold, wire.Register)
	commit := b.openWrite(t, b.hold)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, err := b.send(t, checkout, http.MethodPost, wire.VerbPath(b.hold, wire.Release), "", func(r *http.Request) { *r = *r.WithContext(ctx) })
		if err == nil {
			t.Error("the call got an answer")
		}
	}()
	b.waitBlocked(t, 1)
	leave()
	<-left
	commit()
	eventually(t, "the generation is released", func() bool {
		found, err := hold.State(t.Context(), b.Pool, b.hold)
		return err == nil && found.State == hold.Released
	})
	got := wantAnswer[wire.Answer](t, b.post(t, checkout, b.hold, wire.Release))
	if got.State != "released" || got.Released != 1 || got.Changed {
		t.Errorf("answer is %+v", got)
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	outboxtest.Eventually(t, waitLimit, what, condition)
}
