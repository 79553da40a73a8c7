package saga_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const abortedSQL = `UPDATE outbox.saga_operation SET state = 'aborted', lease_holder = NULL, lease_expires_at = NULL, generation = $2 WHERE operation_id = $1`

// aborted makes an operation whose generation was undone, and which has steps.
func (b *bundle) aborted(generation int) uuid.UUID {
	b.t.Helper()
	id := b.draft()
	b.win(b.request(id))
	b.exec(abortedSQL, id, generation)
	b.exec(`INSERT INTO outbox.saga_step VALUES ($1, DEFAULT, $2, 'person:0', 'person', 'p')`, id, generation)
	return id
}

// TestFailedClaimCountsNoGeneration: the next one that gets through takes exactly the next.
func TestFailedClaimCountsNoGeneration(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.aborted(3)
	r := b.request(id)
	for range 2 {
		hold := newBarrier()
		close(hold.leave)
		if _, err := b.store.ClaimOrResume(t.Context(), barrierDB{b.Pool, hold, false}, r); !errors.Is(err, errDied) {
			t.Fatalf("claim: %v", err)
		}
	}
	if n := read[int](t, b.Pool, `SELECT generation FROM outbox.saga_operation`); n != 3 {
		t.Errorf("the generation is %d after claims that failed", n)
	}
	if won := b.win(r); won.Generation != 4 {
		t.Errorf("the generation is %d, want 4", won.Generation)
	}
	if o := b.claim(r); o.Name() != "in_progress" {
		t.Errorf("the next claim is %s", o.Name())
	}
	if n := read[int](t, b.Pool, `SELECT generation FROM outbox.saga_operation`); n != 4 {
		t.Errorf("the generation is %d after a claim that was not won", n)
	}
}

// TestGenerationsEndAtTheLargestInteger: there is none behind it, and nothing is changed.
func TestGenerationsEndAtTheLargestInteger(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.aborted(math.MaxInt32)
	const row = `SELECT o::text || (SELECT count(*) FROM outbox.saga_step) FROM outbox.saga_operation o`
	before := read[string](t, b.Pool, row)
	var invalid *outbox.InvalidArgumentError
	if _, err := b.store.ClaimOrResume(t.Context(), b.Pool, b.request(id)); !errors.As(err, &invalid) || invalid.Argument != "generation" || outbox.Hint(err) == "" {
		t.Errorf("claim: %v", err)
	}
	if after := read[string](t, b.Pool, row); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

// TestReleasedGenerationHasNoNext: what is released anywhere has happened, and a second generation would be the
// operation once more. A participant says so by a refusal (409 generation-released), or only when it is
// asked to cancel. A refusal that says nothing is not taken for leave to go on.
func TestReleasedGenerationHasNoNext(t *testing.T) {
	t.Parallel()
	silent := statusError(http.StatusConflict)
	for name, w := range map[string]struct {
		at     string
		answer func(ctx context.Context, b *bundle, h outbox.Hold) error // before the participant's own
		want   error
	}{
		"register is refused": {"register", func(_ context.Context, _ *bundle, h outbox.Hold) error {
			return &outbox.HoldRefusedError{Operation: h.Operation, Generation: h.Generation, State: outbox.StateReleased, MaxGeneration: 7}
		}, saga.ErrGenerationClosed},
		"it is released meanwhile": {"cancel", func(ctx context.Context, b *bundle, h outbox.Hold) error {
			_, err := hold.Release(ctx, b.people.Pool, h, "test")
			return err
		}, saga.ErrGenerationClosed},
		"cancel is refused": {"cancel", func(context.Context, *bundle, outbox.Hold) error { return silent }, silent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.draft()
			r := b.request(id)
			r.Participants = []string{"members", "people"}
			won := b.win(r)
			members := b.aborter(won.Hold())
			b.desk.first(func(ctx context.Context, what string) error {
				if what != w.at {
					return nil
				}
				return w.answer(ctx, b, won.Hold())
			})
			c := b.coordinator(func(kinds map[string]saga.Participants) { kinds[kind]["members"] = members })
			if _, err := c.Run(t.Context(), won, b.work(won)); !errors.Is(err, w.want) {
				t.Errorf("run: %v", err)
			}
			if n := read[int](t, b.Pool, `SELECT generation FROM outbox.saga_operation`); n != 1 {
				t.Errorf("it took generation %d after a released one", n)
			}
			b.wantState(id, saga.StateInProgress)
			b.wantPeople(id, 0, 0, 0)
		})
	}
}

// aborter is a participant that remembers a generation as an aborted one.
func (b *bundle) aborter(h outbox.Hold) *saga.Direct {
	b.t.Helper()
	db := outboxtest.NewDatabase(b.t)
	store, err := hold.New(hold.Config{})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := store.Cancel(b.t.Context(), db.Pool, h, "test"); err != nil {
		b.t.Fatal(err)
	}
	return saga.NewDirect(db.Pool, store, "orders", eraser{})
}
