package hold_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// entities are the rows that the steps make: one row each, with the name of its step.
func (b *testBundle) createEntities(t testing.TB) {
	t.Helper()
	b.exec(t, `CREATE TABLE entity (name text PRIMARY KEY, operation uuid, shared boolean NOT NULL DEFAULT false, erased integer NOT NULL DEFAULT 0)`)
}

// apply makes the entity of a step with its receipt and a held event, in one transaction.
func (b *testBundle) apply(t testing.TB, h outbox.Hold, step string) func(tx pgx.Tx) error {
	return func(tx pgx.Tx) error {
		for _, statement := range []string{
			`SELECT outbox.receipt_begin($1, $2, $3, 'entity', repeat('00', 32), stable_id => 'id-' || $3)`,
			`SELECT outbox.publish_held($1, $2, '/test', 'entity.made', id => $3)`,
		} {
			if _, err := tx.Exec(t.Context(), statement, h.Operation.String(), h.Generation, step); err != nil {
				return err
			}
		}
		_, err := tx.Exec(t.Context(), `INSERT INTO entity (name, operation) VALUES ($1, $2)`, step, h.Operation)
		return err
	}
}

func (b *testBundle) applied(t testing.TB, h outbox.Hold, steps ...string) {
	t.Helper()
	for _, step := range steps {
		if err := pgx.BeginFunc(t.Context(), b.Pool, b.apply(t, h, step)); err != nil {
			t.Fatalf("apply %s: %v", step, err)
		}
	}
}

// service undoes entities as a service should. The hooks are called under the lock.
type service struct {
	calls atomic.Int64
	under func(ctx context.Context, tx pgx.Tx, r hold.Receipt) error
}

func (s *service) Lock(ctx context.Context, tx pgx.Tx, r hold.Receipt) error {
	_, err := tx.Exec(ctx, `SELECT FROM entity WHERE name = $1 FOR UPDATE`, r.Step)
	return err
}

func (s *service) Undo(ctx context.Context, tx pgx.Tx, r hold.Receipt) (hold.Fate, error) {
	s.calls.Add(1)
	if r.StableID != "id-"+r.Step || r.EntityKind != "entity" || r.AppliedAt.IsZero() {
		return hold.Fate{}, fmt.Errorf("receipt is %+v", r)
	}
	if s.under != nil {
		if err := s.under(ctx, tx, r); err != nil {
			return hold.Fate{}, err
		}
	}
	var shared bool
	if err := tx.QueryRow(ctx, `SELECT shared FROM entity WHERE name = $1`, r.Step).Scan(&shared); err != nil {
		return hold.Fate{}, err
	}
	if shared {
		return hold.Quarantine("belongs to another household"), nil
	}
	_, err := tx.Exec(ctx, `UPDATE entity SET erased = erased + 1 WHERE name = $1`, r.Step)
	return hold.Undone(), err
}

func (b *testBundle) cancel(t testing.TB, h outbox.Hold) {
	t.Helper()
	if _, err := hold.Cancel(t.Context(), b.Pool, h, "test"); err != nil {
		t.Fatalf("cancel: %v", err)
	}
}

// erased returns how often each entity was erased.
func (b *testBundle) erased(t testing.TB) []string {
	t.Helper()
	return column[string](t, b.Pool, `SELECT name || ' ' || erased FROM entity ORDER BY name`)
}

func (b *testBundle) wantCompensation(t testing.TB, undo hold.Compensator, want hold.Compensation) {
	t.Helper()
	got, err := hold.Compensate(t.Context(), b.Pool, b.hold, "test", undo)
	if err != nil {
		t.Fatalf("compensate: %v", err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(hold.Quarantined{}, "At"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("compensation (-want +got):\n%s", diff)
	}
}

func TestCompensationUndoesWhatIsOwnedAndQuarantinesWhatIsShared(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	b.applied(t, b.hold, "person:0", "person:1", "household")
	b.exec(t, `UPDATE entity SET shared = true WHERE name = 'person:1'`)
	b.cancel(t, b.hold)
	quarantined := []hold.Quarantined{{Step: "person:1", EntityKind: "entity", StableID: "id-person:1", Reason: "belongs to another household"}}
	s := &service{}
	b.wantCompensation(t, s, hold.Compensation{Undone: 2, Quarantined: quarantined, Changed: true})
	b.wantCompensation(t, s, hold.Compensation{Undone: 2, Quarantined: quarantined}) // repeated
	if diff := cmp.Diff([]string{"household 1", "person:0 1", "person:1 0"}, b.erased(t)); diff != "" {
		t.Errorf("entities (-want +got):\n%s", diff)
	}
	if n := s.calls.Load(); n != 3 {
		t.Errorf("the service was called %d times, want once a step", n)
	}
	if diff := cmp.Diff([]string{"register", "cancel", "quarantine", "compensate"}, b.auditActions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if log := b.log(t); len(log) != 0 {
		t.Errorf("downstream hears of %v", log)
	}
	// What is quarantined stays so, even when the entity is the operation's own again.
	b.exec(t, `UPDATE entity SET shared = false`)
	b.wantCompensation(t, s, hold.Compensation{Undone: 2, Quarantined: quarantined})
}

func TestOnlyACancelledGenerationIsCompensated(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	b.applied(t, b.hold, "a")
	s := &service{}
	compensate := func() error {
		_, err := hold.Compensate(t.Context(), b.Pool, b.hold, "test", s)
		return err
	}
	if err := compensate(); !errors.Is(err, hold.ErrNotCancelled) || outbox.Hint(err) == "" {
		t.Errorf("error is %v, want that it is active, and a hint", err)
	}
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, compensate(), outbox.ErrGenerationReleased, b.hold, "released")
	b = b.another()
	wantRefused(t, compensate(), outbox.ErrGenerationUnknown, b.hold, "unknown")
	if s.calls.Load() != 0 {
		t.Error("the service was asked to undo")
	}
}

// A write that was open when the cancel came commits before the mark, and so is undone too.
func TestWriteThatSlippedInBeforeTheMarkIsCompensated(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	b.applied(t, b.hold, "a")
	writer := b.begin(t, pgx.TxOptions{})
	if err := b.apply(t, b.hold, "b")(writer); err != nil {
		t.Fatal(err)
	}
	cancel := b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) error {
		_, err := hold.Cancel(t.Context(), tx, b.hold, "test")
		return err
	})
	waitBlocked(t, b.Pool, cancel.pid)
	late := b.start(t, pgx.TxOptions{}, b.apply(t, b.hold, "c"))
	if err := writer.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cancel.wait(t); err != nil {
		t.Fatal(err)
	}
	b.wantLate(t, late.wait(t))
}

// wantLate: the late write is in, and undone, or it was refused; nothing is left of it.
func (b *testBundle) wantLate(t *testing.T, err error) {
	t.Helper()
	steps := int64(3)
	if err != nil {
		wantSQLState(t, err, "HF011")
		steps = 2
	}
	b.wantCompensation(t, &service{}, hold.Compensation{Undone: steps, Changed: true})
	if n := read[int64](t, b.Pool, `SELECT count(*) FROM entity WHERE erased = 1`); n != steps {
		t.Errorf("%d entities are erased, want %d", n, steps)
	}
}

func TestCompensationCanStageNoEvent(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	b.applied(t, b.hold, "a", "b")
	b.cancel(t, b.hold)
	other := b.anotherActive(t)
	for name, stage := range map[string]func(ctx context.Context, tx pgx.Tx) error{
		"free": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `SELECT outbox.publish('/test', 'entity.erased')`)
			return err
		},
		"held by another": func(ctx context.Context, tx pgx.Tx) error { return stage(ctx, tx, other.hold, "x") },
		"without a function": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO outbox.event_outbox (event_id, source, type) VALUES ('x', '/test', 't')`)
			return err
		},
	} {
		s := &service{under: func(ctx context.Context, tx pgx.Tx, r hold.Receipt) error {
			if r.Step == "a" {
				return nil // the others go on
			}
			return stage(ctx, tx)
		}}
		got, err := hold.Compensate(t.Context(), b.Pool, b.hold, "test", s)
		if !errors.Is(err, hold.ErrCompensationStaged) || outbox.Hint(err) == "" || got.Undone != 1 || got.Pending != 1 {
			t.Errorf("%s: %+v, error %v; want the step refused with a hint", name, got, err)
		}
	}
	if diff := cmp.Diff([]string{"a 1", "b 0"}, b.erased(t)); diff != "" {
		t.Errorf("entities (-want +got):\n%s", diff)
	}
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.event_outbox`); n != 0 {
		t.Errorf("%d events were staged", n)
	}
	b.wantCompensation(t, &service{}, hold.Compensation{Undone: 2, Changed: true})
}

// The process dies before, in and after any step: each entity is erased once in the end.
func TestCompensationGoesOnAfterACrashAnywhere(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	steps := []string{"a", "b", "c"}
	b.applied(t, b.hold, steps...)
	b.cancel(t, b.hold)
	for _, step := range steps {
		for _, when := range []string{"in", "after"} {
			ctx, die := context.WithCancel(t.Context())
			s := &service{under: func(ctx context.Context, tx pgx.Tx, r hold.Receipt) error {
				if r.Step == step && when == "in" {
					_, err := tx.Exec(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
					die()
					return err
				}
				if r.Step > step {
					die()
				}
				return nil
			}}
			if _, err := hold.Compensate(ctx, b.Pool, b.hold, "test", s); err == nil && when == "in" {
				t.Errorf("compensation did not notice its end in step %s", step)
			}
			die()
		}
	}
	b.wantCompensation(t, &service{}, hold.Compensation{Undone: 3, Changed: b.pendingFinish(t)})
	if diff := cmp.Diff([]string{"a 1", "b 1", "c 1"}, b.erased(t)); diff != "" {
		t.Errorf("entities (-want +got):\n%s", diff)
	}
}

func (b *testBundle) pendingFinish(t *testing.T) bool {
	t.Helper()
	return read[bool](t, b.Pool, `SELECT compensated_at IS NULL FROM outbox.hold_generation WHERE operation_id = $1`, b.hold.Operation)
}

func TestTwoCompensationsAtOnceUndoEachStepOnce(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	b.applied(t, b.hold, "a", "b", "c")
	b.cancel(t, b.hold)
	entered, leave := make(chan struct{}), make(chan struct{})
	first := &service{under: func(_ context.Context, _ pgx.Tx, r hold.Receipt) error {
		if r.Step == "a" {
			close(entered)
			<-leave
		}
		return nil
	}}
	var done [2]error
	var answers [2]hold.Compensation
	ended := make(chan struct{}, 2) // receives once for each
	compensate := func(i int, s *service) {
		answers[i], done[i] = hold.Compensate(t.Context(), b.Pool, b.hold, "test", s)
		ended <- struct{}{}
	}
	go compensate(0, first)
	<-entered
	go compensate(1, &service{})
	// The second waits for the receipt of step a, which the first has locked.
	waitAnyBlocked(t, b)
	close(leave)
	<-ended
	<-ended
	if err := errors.Join(done[:]...); err != nil {
		t.Fatal(err)
	}
	if answers[0].Undone != 3 || answers[1].Undone != 3 || answers[0].Changed == answers[1].Changed {
		t.Errorf("answers are %+v, want 3 steps in both, and one that finished", answers)
	}
	if diff := cmp.Diff([]string{"a 1", "b 1", "c 1"}, b.erased(t)); diff != "" {
		t.Errorf("entities (-want +got):\n%s", diff)
	}
}
