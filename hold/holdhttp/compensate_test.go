package holdhttp_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

// undoer quarantines entities whose id begins with "shared", and fails at those that begin
// with "broken" while it is told to.
type undoer struct{ failing atomic.Bool }

func (u *undoer) Lock(context.Context, pgx.Tx, hold.Receipt) error { return nil }

func (u *undoer) Undo(_ context.Context, _ pgx.Tx, r hold.Receipt) (hold.Fate, error) {
	if u.failing.Load() && strings.HasPrefix(r.StableID, "broken") {
		return hold.Fate{}, errors.New("HIDDEN words of the service")
	}
	if strings.HasPrefix(r.StableID, "shared") {
		return hold.Quarantine("owned by two"), nil
	}
	return hold.Undone(), nil
}

func (b *testBundle) applied(t testing.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		query[string](t, b, `SELECT outcome FROM outbox.receipt_begin($1, 1, $2, 'person', repeat('ab', 32), $3)`,
			b.hold.Operation.String(), id, id)
	}
}

func TestCancelCompensatesAndListsWhatIsLeft(t *testing.T) {
	t.Parallel()
	u := &undoer{}
	b := setup(t, func(c *holdhttp.Config) { c.Compensator = u })
	b.post(t, checkout, b.hold, wire.Register)
	b.applied(t, "alone", "broken", "shared")
	u.failing.Store(true)
	got := b.post(t, checkout, b.hold, wire.Cancel)
	p := wantProblem(t, got, http.StatusServiceUnavailable, wire.CompensationIncomplete)
	if p.Pending != 1 || p.State != "cancelled" || got.header.Get("Retry-After") != "1" || strings.Contains(got.body, "HIDDEN") {
		t.Errorf("problem is %s, %v", got.body, got.header)
	}
	u.failing.Store(false)
	for range 2 {
		answered := wantAnswer[wire.CancelAnswer](t, b.post(t, checkout, b.hold, wire.Cancel))
		want := wire.CancelAnswer{
			Answer: wire.Answer{Operation: b.hold.Operation, Generation: 1, State: "cancelled", MaxGeneration: 1},
			Undone: 2, Quarantined: []wire.Entity{{Step: "shared", Kind: "person", ID: "shared"}},
		}
		if diff := cmp.Diff(want, answered); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	}
	// A service that undoes elsewhere tells what was left as well; so is a stranger told, for
	// whom nothing is undone.
	plain := *b
	plain.serve(t, nil)
	for _, a := range []*testBundle{&plain, b} {
		answered := wantAnswer[wire.CancelAnswer](t, a.post(t, billing, b.hold, wire.Cancel))
		if len(answered.Quarantined) != 1 || answered.Undone != 0 {
			t.Errorf("answer is %+v", answered)
		}
	}
}
