package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// decide calls a function of the component hold in a transaction of its own.
func decide(t testing.TB, db *outboxtest.Database, function string, hold outbox.Hold) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), "SELECT outbox."+function+"(operation => $1, generation => $2, actor => 'test')",
		hold.Operation.String(), int32(hold.Generation))
	if err != nil {
		t.Fatalf("%s: %v", function, err)
	}
}

func TestHeldEventsHaveNoPosition(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	handle := stdlib.OpenDBFromPool(db.Pool)
	defer closeHandle(t, handle)
	hold := outbox.Hold{Operation: uuid.New(), Generation: 1}
	decide(t, db, "hold_register", hold)

	err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		if _, err := outbox.PublishTxHeld(t.Context(), tx, hold, newEvent("held 1"), newEvent("held 2")); err != nil {
			return err
		}
		_, err := outbox.PublishTx(t.Context(), tx, newEvent("live"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	inSQLTx(t, handle, func(tx *sql.Tx) error {
		_, err := outbox.PublishSQLTxHeld(t.Context(), tx, hold, newEvent("held 3"))
		return err
	})
	want := map[string]bool{"held 1": true, "held 2": true, "held 3": true, "live": false}
	for _, e := range outboxtest.Staged(t, db.Pool) {
		if e.Held != want[e.ID] {
			t.Errorf("event %q held is %v", e.ID, e.Held)
		}
		if e.Held && (e.Operation != hold.Operation.String() || e.Generation != 1) {
			t.Errorf("event %q is held by %s generation %d", e.ID, e.Operation, e.Generation)
		}
	}
	decide(t, db, "hold_release", hold)
	wantIDs(t, db.Pool, "live", "held 1", "held 2", "held 3")
	for _, e := range outboxtest.Staged(t, db.Pool) {
		if e.Held {
			t.Errorf("event %q is still held", e.ID)
		}
	}
}

// publishHeld stages in a transaction that is rolled back.
func publishHeld(t testing.TB, db *outboxtest.Database, hold outbox.Hold, events ...event.Event) error {
	t.Helper()
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t, tx.Rollback)
	_, err = outbox.PublishTxHeld(t.Context(), tx, hold, events...)
	return err
}

func TestGateRefuses(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	for _, c := range []struct {
		state    string
		before   []string
		later    int // a generation that is registered as well
		sentinel error
		highest  int
	}{
		{outbox.StateUnknown, nil, 0, outbox.ErrGenerationUnknown, 0},
		{outbox.StateCancelled, []string{"hold_register", "hold_cancel"}, 0, outbox.ErrGenerationCancelled, 1},
		{outbox.StateReleased, []string{"hold_register", "hold_release"}, 0, outbox.ErrGenerationReleased, 1},
		{outbox.StateSuperseded, []string{"hold_register"}, 3, outbox.ErrGenerationSuperseded, 3},
	} {
		hold := outbox.Hold{Operation: uuid.New(), Generation: 1}
		for _, function := range c.before {
			decide(t, db, function, hold)
		}
		if c.later > 0 {
			decide(t, db, "hold_register", outbox.Hold{Operation: hold.Operation, Generation: c.later})
		}
		for _, events := range [][]event.Event{{newEvent("x")}, nil} { // the gate is read also for no events
			err := publishHeld(t, db, hold, events...)
			var refused *outbox.HoldRefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("%s: error is %v", c.state, err)
			}
			if refused.Operation != hold.Operation || refused.Generation != 1 || refused.State != c.state || refused.MaxGeneration != c.highest {
				t.Errorf("%s: refused with %+v", c.state, refused)
			}
			for _, sentinel := range []error{outbox.ErrGenerationUnknown, outbox.ErrGenerationCancelled, outbox.ErrGenerationReleased, outbox.ErrGenerationSuperseded} {
				if errors.Is(err, sentinel) != (sentinel == c.sentinel) {
					t.Errorf("%s: errors.Is(%v) is %v", c.state, sentinel, errors.Is(err, sentinel))
				}
			}
			if outbox.Hint(err) == "" || outbox.Retryable(err) {
				t.Errorf("%s: hint %q, retryable %v", c.state, outbox.Hint(err), outbox.Retryable(err))
			}
		}
	}
	wantIDs(t, db.Pool)
}

func TestHoldThatNamesNoGeneration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hold     outbox.Hold
		argument string
	}{
		{outbox.Hold{}, "operation"},
		{outbox.Hold{Operation: uuid.New()}, "generation"},
		{outbox.Hold{Operation: uuid.New(), Generation: -1}, "generation"},
		{outbox.Hold{Operation: uuid.New(), Generation: math.MaxInt32 + 1}, "generation"},
	} {
		var tx recorder
		_, err := outbox.PublishTxHeld(t.Context(), &tx, c.hold, newEvent("x"))
		var argument *outbox.InvalidArgumentError
		if !errors.As(err, &argument) || argument.Argument != c.argument || outbox.Hint(err) == "" {
			t.Errorf("Hold %+v: error is %v", c.hold, err)
		}
		if tx.calls != 0 {
			t.Errorf("Hold %+v was sent", c.hold)
		}
	}
}

// TestGateAtStricterIsolation: the snapshot is older than the decision, so the lock on
// the gate fails, and the error says that a new transaction may do better.
func TestGateAtStricterIsolation(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		hold := outbox.Hold{Operation: uuid.New(), Generation: 1}
		decide(t, db, "hold_register", hold)
		tx, err := db.Pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
		if err != nil {
			t.Fatal(err)
		}
		defer rollback(t, tx.Rollback)
		if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM outbox.event_outbox"); err != nil { // takes the snapshot
			t.Fatal(err)
		}
		decide(t, db, "hold_cancel", hold)
		_, err = outbox.PublishTxHeld(t.Context(), tx, hold, newEvent("late"))
		if !outbox.Retryable(err) {
			t.Errorf("%s: %v is not retryable", level, err)
		}
		rollback(t, tx.Rollback)
		if err := publishHeld(t, db, hold, newEvent("late")); !errors.Is(err, outbox.ErrGenerationCancelled) {
			t.Errorf("%s: the retry gets %v", level, err)
		}
	}
}

// TestPreparedTransaction: two-phase commit needs a setting that is off by default.
func TestPreparedTransaction(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabaseIn(t, preparing(t))
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	exec := func(statement string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for _, end := range []string{"COMMIT PREPARED", "ROLLBACK PREPARED"} {
		exec("BEGIN")
		if _, err := outbox.PublishTx(t.Context(), conn, newEvent(end)); err != nil {
			t.Fatal(err)
		}
		exec("PREPARE TRANSACTION 'it'")
		if end == "COMMIT PREPARED" {
			wantIDs(t, db.Pool)
		}
		exec(end + " 'it'")
	}
	wantIDs(t, db.Pool, "COMMIT PREPARED")
}
