package keeper_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/keeper"
	"github.com/holdfast-dev/holdfast/outbox"
)

// undoer counts what it undoes, and fails as often as it is told.
type undoer struct {
	mu     sync.Mutex
	undone map[string]int
	fail   int
}

var errBroken = errors.New("broken")

func (*undoer) Lock(context.Context, pgx.Tx, hold.Receipt) error { return nil }

func (u *undoer) Undo(_ context.Context, _ pgx.Tx, r hold.Receipt) (hold.Fate, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fail > 0 {
		u.fail--
		return hold.Fate{}, errBroken
	}
	u.undone[r.StableID]++
	return hold.Undone(), nil
}

func (b *bundle) applied(h outbox.Hold, step string) {
	b.t.Helper()
	b.exec(`SELECT outbox.receipt_begin($1, 1, $2, 'entity', repeat('00', 32), stable_id => $2)`, h.Operation.String(), step)
}

// Nobody calls again for what a keeper has cancelled, or for what its caller left half-way.
func TestKeeperUndoesWhatNobodyElseWill(t *testing.T) {
	t.Parallel()
	b, u := setup(t), &undoer{undone: map[string]int{}, fail: 1}
	expired, left := b.overdue(hold.CancelOnExpiry), b.active()
	b.applied(expired, "a")
	b.applied(left, "b")
	if _, err := hold.Cancel(t.Context(), b.Pool, left, "coordinator"); err != nil {
		t.Fatal(err)
	}
	k := b.keeper(keeper.Config{Compensator: u})
	due := func() { b.exec(`UPDATE outbox.hold_inquiry SET next_at = clock_timestamp()`) }
	if r, err := k.Pass(t.Context()); !errors.Is(err, errBroken) || r.Cancelled != 1 {
		t.Errorf("report %+v, error %v; want one cancelled, and the fault told", r, err)
	}
	b.pass(k) // it waits now
	due()
	b.pass(k)
	b.wantState(expired, hold.Cancelled, "expire", "compensate")
	b.wantState(left, hold.Cancelled, "cancel", "compensate")
	if len(u.undone) != 2 || u.undone["a"] != 1 || u.undone["b"] != 1 {
		t.Errorf("undone is %v, want a and b once", u.undone)
	}
	due()
	if r := b.pass(k); r.Compensated != 0 {
		t.Errorf("report %+v: something was undone again", r)
	}
}

func TestGenerationThatCannotBeUndoneWaitsLonger(t *testing.T) {
	t.Parallel()
	b, u := setup(t), &undoer{undone: map[string]int{}, fail: 3}
	h := b.active()
	b.applied(h, "a")
	if _, err := hold.Cancel(t.Context(), b.Pool, h, "coordinator"); err != nil {
		t.Fatal(err)
	}
	k := b.keeper(keeper.Config{Compensator: u, Pause: time.Hour})
	for want := 1; want <= 3; want++ {
		if _, err := k.Pass(t.Context()); !errors.Is(err, errBroken) || b.attempts(h) != want {
			t.Errorf("error is %v after %d attempts, want %d", err, b.attempts(h), want)
		}
		b.pass(k) // not its turn
		b.exec(`UPDATE outbox.hold_inquiry SET next_at = clock_timestamp()`)
	}
	if r := b.pass(k); r.Compensated != 1 {
		t.Errorf("report %+v, want it compensated", r)
	}
}
