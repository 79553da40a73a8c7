package hold_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// waitAnyBlocked returns when some connection to the database waits for another.
func waitAnyBlocked(t testing.TB, b *testBundle) {
	t.Helper()
	outboxtest.Eventually(t, waitLimit, "somebody waits for a lock", func() bool {
		return read[bool](t, b.Pool, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0)`)
	})
}

// Somebody shares the entity while it is about to be undone: the lock comes before the look.
func TestExclusivityIsJudgedUnderTheLockOfTheEntity(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	b.applied(t, b.hold, "a")
	b.cancel(t, b.hold)
	sharing := b.begin(t, pgx.TxOptions{})
	if _, err := sharing.Exec(t.Context(), `UPDATE entity SET shared = true`); err != nil {
		t.Fatal(err)
	}
	var got hold.Compensation
	done := make(chan error, 1) // receives once
	go func() {
		var err error
		got, err = hold.Compensate(t.Context(), b.Pool, b.hold, "test", &service{})
		done <- err
	}()
	waitAnyBlocked(t, b)
	if err := sharing.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || len(got.Quarantined) != 1 || got.Undone != 0 {
		t.Errorf("compensation is %+v with error %v, want one in quarantine", got, err)
	}
	if diff := cmp.Diff([]string{"a 0"}, b.erased(t)); diff != "" {
		t.Errorf("entities (-want +got):\n%s", diff)
	}
}

// A step that cannot be undone leaves nothing behind and keeps no other from it.
func TestOneStepThatFailsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	b.applied(t, b.hold, "a", "b", "c")
	b.cancel(t, b.hold)
	broken := errors.New("broken")
	got, err := hold.Compensate(t.Context(), b.Pool, b.hold, "test", &service{under: func(ctx context.Context, tx pgx.Tx, r hold.Receipt) error {
		if r.Step != "a" {
			return nil
		}
		_, err := tx.Exec(ctx, `UPDATE entity SET erased = 99 WHERE name = 'a'`)
		return errors.Join(err, broken)
	}})
	if !errors.Is(err, broken) || got.Undone != 2 || got.Pending != 1 || got.Changed {
		t.Errorf("compensation is %+v with error %v, want two undone and one pending", got, err)
	}
	if diff := cmp.Diff([]string{"a 0", "b 1", "c 1"}, b.erased(t)); diff != "" {
		t.Errorf("entities (-want +got):\n%s", diff)
	}
	b.wantCompensation(t, &service{}, hold.Compensation{Undone: 3, Changed: true})
}

func TestFateMustBeNamed(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	b.applied(t, b.hold, "a")
	b.cancel(t, b.hold)
	for argument, fate := range map[string]hold.Fate{"outcome": {}, "reason": hold.Quarantine("")} {
		_, err := hold.Compensate(t.Context(), b.Pool, b.hold, "test", silent{fate})
		wantArgument(t, err, argument)
	}
	_, err := hold.Compensate(t.Context(), b.Pool, b.hold, "test", nil)
	wantArgument(t, err, "compensator")
}

// silent does nothing and says so.
type silent struct{ fate hold.Fate }

func (silent) Lock(context.Context, pgx.Tx, hold.Receipt) error { return nil }

func (s silent) Undo(context.Context, pgx.Tx, hold.Receipt) (hold.Fate, error) { return s.fate, nil }

// Who drops undoes the entities himself, and a generation without receipts has none.
func TestNothingIsPendingAfterADropOrWithoutReceipts(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	b.applied(t, b.hold, "a")
	if _, err := hold.Drop(t.Context(), b.Pool, b.hold, "owner"); err != nil {
		t.Fatal(err)
	}
	b.cancel(t, b.generation(2))
	for _, l := range b.list(t, hold.Filter{Operation: b.hold.Operation}) {
		if l.Compensated.IsZero() {
			t.Errorf("generation %d has something to undo", l.Hold.Generation)
		}
	}
}
