package saga_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

// dying makes a tick whose backend is killed while a statement of it waits for a lock of the test's. take
// takes that lock; it is called before the tick, or at a call of the participant.
func (b *bundle) dying(c *saga.Coordinator, at string, lock string, args ...any) {
	b.t.Helper()
	blocker, pid := b.conn()
	tx, err := blocker.Begin(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	take := func() error { _, err := tx.Exec(b.t.Context(), lock, args...); return err }
	if at == "" {
		err = take()
	} else {
		b.desk.first(func(_ context.Context, what string) error {
			if what == at {
				return take()
			}
			return nil
		})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := c.Tick(b.t.Context()); ended <- err }()
	b.until("the statement waits, and its backend is killed", func() bool {
		return read[int](b.t, b.Pool, `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND $1 = ANY (pg_blocking_pids(pid))`, pid) > 0
	})
	if err := wait(b.t, "the tick ends", ended); err == nil {
		b.t.Error("the tick noticed nothing")
	}
	b.desk.first(nil)
	if err := tx.Rollback(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// TestReconcilerKilledInAStatement: what it did before stays, the statement itself leaves nothing, and
// another one goes on.
func TestReconcilerKilledInAStatement(t *testing.T) {
	t.Parallel()
	const row = `SELECT FROM outbox.saga_operation WHERE operation_id = $1 FOR UPDATE`
	t.Run("that claims", func(t *testing.T) {
		b := setup(t)
		c := b.coordinator()
		id := b.abandon(c, "2 h")
		b.dying(c, "", `LOCK TABLE outbox.saga_audit`)
		b.wantState(id, saga.StateInProgress)
		if b.desk.count("cancel") != 0 {
			t.Error("it cancelled without the claim")
		}
		b.wantTakenOver(id)
	})
	t.Run("that marks it aborted", func(t *testing.T) {
		b := setup(t)
		c := b.coordinator()
		id := b.abandon(c, "2 h")
		b.dying(c, "cancel", row, id)
		b.wantState(id, saga.StateCompensating)
		b.age(id, "1 s")
		b.wantTakenOver(id)
	})
	t.Run("that puts it off", func(t *testing.T) {
		b := setup(t)
		c := b.coordinator()
		id := b.abandon(c, "2 h")
		participant := b.desk.Participant
		b.desk.Participant = badFor{participant, id, errDied}
		b.dying(c, "cancel", row, id)
		b.desk.Participant = participant
		b.wantState(id, saga.StateCompensating)
		if n := read[int](t, b.Pool, `SELECT attempts FROM outbox.saga_operation`); n != 0 {
			t.Errorf("%d attempts are counted", n)
		}
		b.age(id, "1 s")
		b.wantTakenOver(id)
	})
	t.Run("that marks it released", func(t *testing.T) {
		b := setup(t)
		c := b.coordinator()
		id := b.unreleased(c)
		b.due(id)
		b.dying(c, "release", row, id)
		b.wantPeople(id, 2, 0, 2)
		if b.released(id) {
			t.Error("it is marked")
		}
		b.due(id)
		if r := b.tick(b.survivor()); r.Released != 1 || !b.released(id) {
			t.Errorf("report of the next one is %+v", r)
		}
		b.wantPeople(id, 2, 0, 2)
	})
}

// survivor is another reconciler, for which the lease of the dead one is over.
func (b *bundle) survivor() *saga.Coordinator {
	b.t.Helper()
	b.exec(`UPDATE outbox.saga_reconciler SET lease_until = clock_timestamp() WHERE lease_token IS NOT NULL`)
	return b.coordinator()
}

// wantTakenOver: another reconciler ends the operation, and it is told once.
func (b *bundle) wantTakenOver(id uuid.UUID) {
	b.t.Helper()
	if r := b.tick(b.survivor()); r.Aborted != 1 {
		b.t.Errorf("report of the next one is %+v", r)
	}
	b.wantState(id, saga.StateAborted)
	b.wantPeople(id, 0, 0, 0)
	_, _, acts, err := b.store.Show(b.t.Context(), b.Pool, id)
	if err != nil {
		b.t.Fatal(err)
	}
	var told []string
	for _, act := range acts {
		told = append(told, act.Action)
	}
	if !slices.Equal(told, []string{"compensate", "abort"}) {
		b.t.Errorf("audit is %v", told)
	}
}

// unreleased makes an operation that completed, and whose process died before it released.
func (b *bundle) unreleased(c *saga.Coordinator) uuid.UUID {
	b.t.Helper()
	id := b.draft()
	won := b.win(b.request(id))
	b.desk.first(func(_ context.Context, what string) error {
		if what == "release" {
			panic(errDied)
		}
		return nil
	})
	func() {
		defer func() {
			if recover() == nil {
				b.t.Error("it did not die")
			}
		}()
		_, _ = c.Run(b.t.Context(), won, b.work(won))
	}()
	b.desk.first(nil)
	return id
}

// TestDeathAfterTheFinalCommit: nothing is lost and nothing is undone; the reconciler releases, and the client
// gets the answer.
func TestDeathAfterTheFinalCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	id := b.unreleased(c)
	b.wantState(id, saga.StateCompleted)
	b.wantPeople(id, 2, 2, 0)
	if o := b.claim(b.request(id)); o.Name() != "completed" {
		t.Errorf("the client's retry is %s", o.Name())
	}
	b.due(id)
	if r := b.tick(b.survivor()); r.Released != 1 {
		t.Errorf("report is %+v", r)
	}
	b.wantPeople(id, 2, 0, 2)
	if r := b.tick(c); r.Released != 0 || b.desk.count("release") != 2 {
		t.Errorf("it is released again: %+v, %d calls", r, b.desk.count("release"))
	}
}

// TestReconcilerKilledInACall: before the participant has done it, and after. Nothing is counted, the turn
// is waited for, and the next one goes on.
func TestReconcilerKilledInACall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	for name, does := range map[string]bool{"before it is done": false, "after it is done": true} {
		id := b.abandon(c, "2 h")
		ctx, die := context.WithCancel(t.Context())
		participant := b.desk.Participant
		b.desk.Participant = deadly{participant, die, does}
		if _, err := b.survivor().Tick(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: tick: %v", name, err)
		}
		b.desk.Participant = participant
		b.wantState(id, saga.StateCompensating)
		if n := read[int](t, b.Pool, `SELECT attempts FROM outbox.saga_operation WHERE operation_id = $1`, id); n != 0 {
			t.Errorf("%s: %d attempts are counted", name, n)
		}
		if r := b.tick(b.survivor()); r.Aborted != 0 {
			t.Errorf("%s: its turn is not waited for", name)
		}
		b.age(id, "1 s")
		b.wantTakenOver(id)
	}
}

// deadly is a participant during whose cancel the caller dies.
type deadly struct {
	saga.Participant
	die  func()
	does bool
}

func (p deadly) Cancel(ctx context.Context, h outbox.Hold) (hold.Answer, error) {
	if p.does {
		if a, err := p.Participant.Cancel(ctx, h); err != nil {
			return a, err
		}
	}
	p.die()
	return hold.Answer{}, ctx.Err()
}

// TestHolderThatIsCompensatedStops: it learns so when it records its step, makes no other call, and nothing is
// left of what it made.
func TestHolderThatIsCompensatedStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	work := b.work(won)
	do := work.Steps[0].Do
	work.Steps[0].Do = func(ctx context.Context, call saga.Call) (string, error) {
		made, err := do(ctx, call)
		b.age(id, "2 h")
		b.tick(b.survivor())
		return made, err
	}
	work.Steps[1].Do = func(context.Context, saga.Call) (string, error) {
		t.Error("it went on")
		return "", errDied
	}
	if _, err := c.Run(t.Context(), won, work); !errors.Is(err, saga.ErrLeaseLost) {
		t.Errorf("run: %v", err)
	}
	b.wantState(id, saga.StateAborted)
	b.wantPeople(id, 0, 0, 0)
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.saga_step`); n != 0 {
		t.Errorf("%d steps are recorded", n)
	}
}

// TestReleaseThatIsConfirmedMeanwhileIsLeft: an operation that was listed, and that its holder has released
// since, is not asked about again.
func TestReleaseThatIsConfirmedMeanwhileIsLeft(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	ids := []uuid.UUID{b.unreleased(c), b.unreleased(c)}
	for i, id := range ids { // the first is due first
		b.exec(`UPDATE outbox.saga_operation SET next_attempt_at = clock_timestamp() - $2::interval WHERE operation_id = $1`, id, []string{"2 s", "1 s"}[i])
	}
	calls := b.desk.count("release")
	b.desk.first(func(ctx context.Context, what string) error {
		_, err := b.store.MarkReleased(ctx, b.Pool, saga.Claim{Operation: ids[1], Generation: 1})
		return err
	})
	if r := b.tick(c); r.Released != 1 || b.desk.count("release") != calls+1 {
		t.Errorf("report is %+v after %d calls", r, b.desk.count("release")-calls)
	}
	if n := read[int](t, b.Pool, `SELECT sum(attempts) FROM outbox.saga_operation`); n != 0 {
		t.Errorf("%d attempts are counted", n)
	}
}

// TestLockedOperationHoldsUpNobody: a client that has the row of one keeps the reconciler from that one alone.
func TestLockedOperationHoldsUpNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	locked, other := b.abandon(c, "3 h"), b.abandon(c, "2 h")
	tx, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(t.Context()) }) // it has ended
	if _, err := tx.Exec(t.Context(), `SELECT FROM outbox.saga_operation WHERE operation_id = $1 FOR UPDATE`, locked); err != nil {
		t.Fatal(err)
	}
	ticked := make(chan *saga.Report, 1)
	go func() {
		r, err := c.Tick(t.Context())
		if err != nil {
			t.Error(err)
		}
		ticked <- r
	}()
	if r := wait(t, "the tick", ticked); r.Aborted != 1 {
		t.Errorf("report is %+v", r)
	}
	b.wantState(other, saga.StateAborted)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.tick(c)
	b.wantState(locked, saga.StateAborted)
}

// TestPruningWaitsForNobody: what somebody has locked is left for the next time, and the others go.
func TestPruningWaitsForNobody(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	locked, other := b.aborted(1), b.aborted(1)
	b.exec(`UPDATE outbox.saga_operation SET updated_at = clock_timestamp() - interval '31 days'`)
	tx, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(t.Context()) }) // it has ended
	if _, err := tx.Exec(t.Context(), `SELECT FROM outbox.saga_operation WHERE operation_id = $1 FOR UPDATE`, locked); err != nil {
		t.Fatal(err)
	}
	pruned := make(chan int64, 1)
	go func() {
		n, err := b.store.Prune(t.Context(), b.Pool)
		if err != nil {
			t.Error(err)
		}
		pruned <- n
	}()
	if n := wait(t, "the pruning", pruned); n != 1 {
		t.Errorf("%d pruned", n)
	}
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.saga_operation WHERE operation_id = $1`, other); n != 0 {
		t.Error("the other one is left")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := b.store.Prune(t.Context(), b.Pool); n != 1 || err != nil {
		t.Errorf("later: %d pruned, %v", n, err)
	}
}
