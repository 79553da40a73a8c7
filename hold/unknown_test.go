package hold_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Races for a generation that has no row, which nobody can lock: the row of the operation
// stands in for it. That one may be missing as well, or be there because of an earlier
// generation.

func forUnknown(t *testing.T, test func(t *testing.T, b *testBundle)) {
	db := setup(t)
	t.Run("unknown operation", func(t *testing.T) { test(t, db.another()) })
	t.Run("known operation", func(t *testing.T) {
		b := db.anotherActive(t)
		b.hold.Generation = 2
		test(t, b)
	})
}

// run makes the first call in a transaction that stays open, starts the second, waits
// until it is stopped by the first, commits the first, and returns what both got.
func (b *testBundle) run(t *testing.T, first, second func(hold.DB) (hold.Answer, error)) (one, two hold.Answer, err error) {
	t.Helper()
	opened := b.begin(t, pgx.TxOptions{})
	if one, err = first(opened); err != nil {
		t.Fatalf("first call: %v", err)
	}
	c := b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
		two, err = second(tx)
		return err
	})
	waitBlocked(t, b.Pool, c.pid)
	if err := opened.Commit(t.Context()); err != nil {
		t.Fatalf("commit the first: %v", err)
	}
	err = c.wait(t)
	return one, two, err
}

func (b *testBundle) registering(t *testing.T, h outbox.Hold) func(hold.DB) (hold.Answer, error) {
	return func(db hold.DB) (hold.Answer, error) { return hold.Register(t.Context(), db, h, "test") }
}

func (b *testBundle) cancelling(t *testing.T, h outbox.Hold) func(hold.DB) (hold.Answer, error) {
	return func(db hold.DB) (hold.Answer, error) { return hold.Cancel(t.Context(), db, h, "test") }
}

// changes returns what was done to the generation.
func (b *testBundle) changes(t *testing.T) []string {
	t.Helper()
	return column[string](t, b.Pool, `SELECT action FROM outbox.hold_audit
		WHERE operation_id = $1 AND generation = $2 ORDER BY id`, b.hold.Operation, b.hold.Generation)
}

func TestTwoCancelsOfAnUnknownGenerationAtOnce(t *testing.T) {
	t.Parallel()
	forUnknown(t, func(t *testing.T, b *testBundle) {
		one, two, err := b.run(t, b.cancelling(t, b.hold), b.cancelling(t, b.hold))
		if err != nil {
			t.Fatalf("second cancel: %v", err)
		}
		if !one.Changed || two.Changed || two.State != hold.Cancelled {
			t.Errorf("answers %+v and %+v", one, two)
		}
		if diff := cmp.Diff([]string{"cancel"}, b.changes(t)); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func TestTwoRegistersOfAnUnknownGenerationAtOnce(t *testing.T) {
	t.Parallel()
	forUnknown(t, func(t *testing.T, b *testBundle) {
		one, two, err := b.run(t, b.registering(t, b.hold), b.registering(t, b.hold))
		if err != nil {
			t.Fatalf("second register: %v", err)
		}
		if !one.Changed || two.Changed || two.State != hold.Active {
			t.Errorf("answers %+v and %+v", one, two)
		}
		b.stage(t, b.Pool, b.hold, "e")
	})
}

// It ends cancelled, whoever is first, and the register says so.
func TestRegisterAndCancelAtOnceEndCancelled(t *testing.T) {
	t.Parallel()
	t.Run("register first", func(t *testing.T) {
		forUnknown(t, func(t *testing.T, b *testBundle) {
			_, two, err := b.run(t, b.registering(t, b.hold), b.cancelling(t, b.hold))
			if err != nil || two.State != hold.Cancelled || !two.Changed {
				t.Errorf("cancel: answer %+v, error %v", two, err)
			}
			wantSQLState(t, stage(t.Context(), b.Pool, b.hold, "late"), "HF011")
			if diff := cmp.Diff([]string{"register", "cancel"}, b.changes(t)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("cancel first", func(t *testing.T) {
		forUnknown(t, func(t *testing.T, b *testBundle) {
			_, two, err := b.run(t, b.cancelling(t, b.hold), b.registering(t, b.hold))
			if err != nil || two.State != hold.Cancelled || two.Changed {
				t.Errorf("register: answer %+v, error %v", two, err)
			}
			wantSQLState(t, stage(t.Context(), b.Pool, b.hold, "late"), "HF011")
			if diff := cmp.Diff([]string{"cancel"}, b.changes(t)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	})
}

// The higher of two generations stays. The lower one is refused if it comes second, and
// closed to writers if it came first.
func TestTwoGenerationsRegisteredAtOnce(t *testing.T) {
	t.Parallel()
	forUnknown(t, func(t *testing.T, b *testBundle) {
		low, high := b.generation(5), b.generation(6)
		_, _, err := b.run(t, b.registering(t, high), b.registering(t, low))
		wantRefused(t, err, outbox.ErrGenerationSuperseded, low, "superseded")
		b.stage(t, b.Pool, high, "e")
	})
	forUnknown(t, func(t *testing.T, b *testBundle) {
		low, high := b.generation(5), b.generation(6)
		_, two, err := b.run(t, b.registering(t, low), b.registering(t, high))
		if err != nil || two.State != hold.Active || two.MaxGeneration != 6 {
			t.Errorf("the higher one: answer %+v, error %v", two, err)
		}
		wantSQLState(t, stage(t.Context(), b.Pool, low, "late"), "HF013")
		b.stage(t, b.Pool, high, "e")
	})
}

// A later generation is registered while the release of an earlier one is open: the
// release was first and stands.
func TestReleaseAgainstTheRegisterOfTheNextGeneration(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, "a", "b")
	releasing := func(db hold.DB) (hold.Answer, error) { return hold.Release(t.Context(), db, b.hold, "test") }
	one, two, err := b.run(t, releasing, b.registering(t, b.generation(2)))
	if err != nil || one.State != hold.Released || two.State != hold.Active {
		t.Errorf("release %+v, register %+v, error %v", one, two, err)
	}

	c := b.another()
	c.register(t, c.hold)
	releasing = func(db hold.DB) (hold.Answer, error) { return hold.Release(t.Context(), db, c.hold, "test") }
	_, _, err = c.run(t, c.registering(t, c.generation(2)), releasing)
	wantRefused(t, err, outbox.ErrGenerationSuperseded, c.hold, "superseded")
}

// Eight cancels set off at the same moment all succeed, without a deadlock and without
// an error that somebody caught.
func TestConcurrentCancelsOfAnUnknownGenerationAllSucceed(t *testing.T) {
	t.Parallel()
	forUnknown(t, func(t *testing.T, b *testBundle) {
		// What stops them all: the insert of the operation, or a lock on it. It is rolled
		// back, so that they race for what is still as it was.
		blocker := b.begin(t, pgx.TxOptions{})
		for _, statement := range []string{
			`INSERT INTO outbox.hold_operation (operation_id) VALUES ($1) ON CONFLICT DO NOTHING`,
			`SELECT FROM outbox.hold_operation WHERE operation_id = $1 FOR UPDATE`,
		} {
			if _, err := blocker.Exec(t.Context(), statement, b.hold.Operation); err != nil {
				t.Fatalf("block: %v", err)
			}
		}
		var calls [8]*call
		var answers [8]hold.Answer
		for i := range calls {
			calls[i] = b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
				answers[i], err = hold.Cancel(t.Context(), tx, b.hold, "test")
				return err
			})
		}
		for _, c := range calls {
			waitBlocked(t, b.Pool, c.pid)
		}
		if err := blocker.Rollback(t.Context()); err != nil {
			t.Fatalf("unblock: %v", err)
		}
		changed := 0
		for i, c := range calls {
			if err := c.wait(t); err != nil || answers[i].State != hold.Cancelled {
				t.Errorf("cancel %d: answer %+v, error %v", i, answers[i], err)
			}
			if answers[i].Changed {
				changed++
			}
		}
		if changed != 1 {
			t.Errorf("%d cancels say that they made the change, want 1", changed)
		}
		if diff := cmp.Diff([]string{"cancel"}, b.changes(t)); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		log := b.ServerLog(t)
		for _, code := range []string{"23505", "40P01", "25P02"} {
			if strings.Contains(log, "sqlstate="+code) {
				t.Errorf("the server logged SQLSTATE %s:\n%s", code, log)
			}
		}
	})
}
