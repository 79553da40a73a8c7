package hold_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

var strictLevels = []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable}

// A writer whose snapshot is older than the decision must not trust it: the error says
// "do it again", and the second time the write is refused.
func TestWriterWithAnOldSnapshotGetsARetryableError(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for _, level := range strictLevels {
		for name, d := range decisions {
			t.Run(string(level)+" "+name, func(t *testing.T) {
				b := db.anotherActive(t)
				writer := b.begin(t, pgx.TxOptions{IsoLevel: level})
				read[int](t, writer, `SELECT count(*) FROM outbox.hold_generation`) // takes the snapshot
				if _, err := d.decide(t, b.Pool, b.hold); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				err := stage(t.Context(), writer, b.hold, "late")
				wantSQLState(t, err, "40001")
				if !outbox.Retryable(err) {
					t.Errorf("%v is not retryable", err)
				}
				if err := writer.Rollback(t.Context()); err != nil {
					t.Fatalf("roll back: %v", err)
				}
				again := b.begin(t, pgx.TxOptions{IsoLevel: level})
				wantSQLState(t, stage(t.Context(), again, b.hold, "late"), d.code)
			})
		}
	}
}

// The same for one who was already waiting when the decision committed.
func TestWaitingWriterWithAnOldSnapshotGetsARetryableError(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for _, level := range strictLevels {
		t.Run(string(level), func(t *testing.T) {
			b := db.anotherActive(t)
			first := b.begin(t, pgx.TxOptions{})
			if _, err := hold.Cancel(t.Context(), first, b.hold, "test"); err != nil {
				t.Fatalf("cancel: %v", err)
			}
			second := b.start(t, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
				return stage(t.Context(), tx, b.hold, "late")
			})
			waitBlocked(t, b.Pool, second.pid)
			if err := first.Commit(t.Context()); err != nil {
				t.Fatalf("commit: %v", err)
			}
			if err := second.wait(t); !outbox.Retryable(err) {
				t.Errorf("error is %v, want a retryable one", err)
			}
		})
	}
}

// A strict writer that comes before the decision is covered by it like any other.
func TestStrictWriterIsCoveredByTheDecision(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for _, level := range strictLevels {
		t.Run(string(level), func(t *testing.T) {
			b := db.anotherActive(t)
			writer := b.begin(t, pgx.TxOptions{IsoLevel: level})
			b.stage(t, writer, b.hold, "a", "b")
			second := b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) error {
				_, err := hold.Release(t.Context(), tx, b.hold, "test")
				return err
			})
			waitBlocked(t, b.Pool, second.pid)
			if err := writer.Commit(t.Context()); err != nil {
				t.Fatalf("commit: %v", err)
			}
			if err := second.wait(t); err != nil {
				t.Fatalf("release: %v", err)
			}
			if log := b.log(t); len(log) != 2 {
				t.Errorf("log has %v, want two events", log)
			}
		})
	}
}

// TestDecisionWithAnOldSnapshotWouldStrandEvents shows what happens without this refusal.
func TestDecisionsDemandReadCommitted(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	for _, level := range strictLevels {
		for name, d := range decisions {
			tx := b.begin(t, pgx.TxOptions{IsoLevel: level})
			_, err := d.decide(t, tx, b.hold)
			wantArgument(t, err, "isolation")
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatalf("%s at %s: roll back: %v", name, level, err)
			}
		}
	}
	b.stage(t, b.Pool, b.hold, "a")
}

func TestRegisterWithAnOldSnapshotGetsARetryableError(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for _, level := range strictLevels {
		t.Run(string(level), func(t *testing.T) {
			b := db.another()
			late := b.begin(t, pgx.TxOptions{IsoLevel: level})
			read[int](t, late, `SELECT count(*) FROM outbox.hold_generation`) // takes the snapshot
			if _, err := hold.Cancel(t.Context(), b.Pool, b.hold, "test"); err != nil {
				t.Fatalf("cancel: %v", err)
			}
			_, err := hold.Register(t.Context(), late, b.hold, "late")
			if !outbox.Retryable(err) {
				t.Errorf("error is %v, want a retryable one", err)
			}
		})
	}
}
