package hold_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

func TestRegisterOpensAGeneration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantSQLState(t, stage(t.Context(), b.Pool, b.hold, "early"), "HF010")
	got, err := hold.Register(t.Context(), b.Pool, b.hold, "coordinator")
	if err != nil {
		t.Fatalf("register: %v", err)
	}
	if diff := cmp.Diff(hold.Answer{State: hold.Active, MaxGeneration: 1, Changed: true}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	b.stage(t, b.Pool, b.hold, "e")
}

// Also the principal, the expiry and its policy stay those of the first call.
func TestRegisterAgainChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	due := time.Date(2027, 1, 2, 3, 4, 5, 678901000, time.FixedZone("", 3600))
	if _, err := hold.Register(t.Context(), b.Pool, b.hold, "first", hold.ExpireAt(due, hold.CancelOnExpiry)); err != nil {
		t.Fatalf("register: %v", err)
	}
	b.stage(t, b.Pool, b.hold, names("e", 3)...)
	before, err := hold.State(t.Context(), b.Pool, b.hold)
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	if !before.ExpiresAt.Equal(due) || before.OnExpiry != hold.CancelOnExpiry || before.Principal != "first" {
		t.Errorf("registered as %+v", before)
	}

	got, err := hold.Register(t.Context(), b.Pool, b.hold, "second", hold.ExpireAt(due.Add(time.Hour), hold.AlarmOnExpiry))
	if err != nil {
		t.Fatalf("register again: %v", err)
	}
	if diff := cmp.Diff(hold.Answer{State: hold.Active, MaxGeneration: 1, Held: 3}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	after, err := hold.State(t.Context(), b.Pool, b.hold)
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("state (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"register"}, b.auditActions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestRegisterAfterReleaseStaysReleased(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, "e")
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("release: %v", err)
	}
	got, err := hold.Register(t.Context(), b.Pool, b.hold, "late")
	if err != nil {
		t.Fatalf("register: %v", err)
	}
	if diff := cmp.Diff(hold.Answer{State: hold.Released, MaxGeneration: 1, Released: 1}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	wantSQLState(t, stage(t.Context(), b.Pool, b.hold, "late"), "HF012")
}

// Only the latest generation of an operation may write, register or release. An
// older one that is open can be cancelled, and nothing else; one that was never here
// cannot come into being.
func TestGenerationBelowTheHighWaterMarkIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.register(t, b.generation(1))
	b.stage(t, b.Pool, b.generation(1), "old")
	b.register(t, b.generation(3))

	wantSQLState(t, stage(ctx, b.Pool, b.generation(1), "late"), "HF013")
	wantSQLState(t, stage(ctx, b.Pool, b.generation(2), "late"), "HF010")
	for n := 1; n <= 2; n++ {
		_, err := hold.Register(ctx, b.Pool, b.generation(n), "zombie")
		wantRefused(t, err, outbox.ErrGenerationSuperseded, b.generation(n), "superseded")
	}
	_, err := hold.Release(ctx, b.Pool, b.generation(1), "zombie")
	wantRefused(t, err, outbox.ErrGenerationSuperseded, b.generation(1), "superseded")
	_, err = hold.Release(ctx, b.Pool, b.generation(2), "zombie")
	wantRefused(t, err, outbox.ErrGenerationUnknown, b.generation(2), "unknown")
	_, err = hold.Cancel(ctx, b.Pool, b.generation(2), "reconciler")
	wantRefused(t, err, outbox.ErrGenerationUnknown, b.generation(2), "unknown")

	got, err := hold.Cancel(ctx, b.Pool, b.generation(1), "reconciler")
	if err != nil {
		t.Fatalf("cancel the old generation: %v", err)
	}
	if diff := cmp.Diff(hold.Answer{State: hold.Cancelled, MaxGeneration: 3, Dropped: 1, Changed: true}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	b.stage(t, b.Pool, b.generation(3), "new")
}

// A tombstone raises the mark, so that the generations before it are shut out as well.
func TestTombstoneRaisesTheHighWaterMark(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := hold.Cancel(t.Context(), b.Pool, b.generation(2), "test"); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	_, err := hold.Register(t.Context(), b.Pool, b.generation(1), "zombie")
	wantRefused(t, err, outbox.ErrGenerationSuperseded, b.generation(1), "superseded")
	b.register(t, b.generation(3))
}

// What was pruned is gone but not forgotten: it cannot come back.
func TestPrunedGenerationCannotComeBack(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("release: %v", err)
	}
	if _, err := b.Pool.Exec(t.Context(), `DELETE FROM outbox.hold_generation`); err != nil {
		t.Fatalf("prune: %v", err)
	}
	_, err := hold.Register(t.Context(), b.Pool, b.hold, "zombie")
	wantRefused(t, err, outbox.ErrGenerationUnknown, b.hold, "unknown")
	_, err = hold.Cancel(t.Context(), b.Pool, b.hold, "zombie")
	wantRefused(t, err, outbox.ErrGenerationUnknown, b.hold, "unknown")
	_, err = hold.State(t.Context(), b.Pool, b.hold)
	wantRefused(t, err, outbox.ErrGenerationUnknown, b.hold, "unknown")
	b.register(t, b.generation(2))
}

// The last generation there is works like any other, and nothing overflows behind it.
func TestGenerationsEndAtTheLargestInteger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	last := b.generation(math.MaxInt32)
	b.register(t, last)
	b.stage(t, b.Pool, last, "e")
	got, err := hold.Release(t.Context(), b.Pool, last, "test")
	if err != nil {
		t.Fatalf("release: %v", err)
	}
	if diff := cmp.Diff(hold.Answer{State: hold.Released, MaxGeneration: math.MaxInt32, Released: 1, Changed: true}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	_, err = hold.Register(t.Context(), b.Pool, b.generation(1), "zombie")
	wantRefused(t, err, outbox.ErrGenerationSuperseded, b.generation(1), "superseded")

	tombstone := outbox.Hold{Operation: uuid.New(), Generation: math.MaxInt32}
	if _, err := hold.Cancel(t.Context(), b.Pool, tombstone, "test"); err != nil {
		t.Errorf("cancel: %v", err)
	}
}

func TestBadArgumentsAreRefusedBeforeAnythingChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	calls := map[string]func(outbox.Hold, string) error{
		"register": func(h outbox.Hold, by string) error { _, err := hold.Register(ctx, b.Pool, h, by); return err },
		"release":  func(h outbox.Hold, by string) error { _, err := hold.Release(ctx, b.Pool, h, by); return err },
		"cancel":   func(h outbox.Hold, by string) error { _, err := hold.Cancel(ctx, b.Pool, h, by); return err },
		"drop":     func(h outbox.Hold, by string) error { _, err := hold.Drop(ctx, b.Pool, h, by); return err },
	}
	for name, call := range calls {
		for _, generation := range []int{0, -1, math.MinInt, math.MaxInt32 + 1} {
			wantArgument(t, call(b.generation(generation), "test"), "generation")
		}
		for _, by := range []string{"", strings.Repeat("x", 256), "a\x00b", "\xff"} {
			wantArgument(t, call(b.hold, by), "actor")
		}
		wantArgument(t, call(outbox.Hold{Generation: 1}, "test"), "operation")
		if t.Failed() {
			t.Fatalf("in %s", name)
		}
	}
	_, err := hold.State(ctx, b.Pool, b.generation(0))
	wantArgument(t, err, "generation")
	_, err = hold.Cancel(ctx, b.Pool, b.hold, "test", hold.Because(strings.Repeat("x", 1025)))
	wantArgument(t, err, "reason")
	_, err = hold.Release(ctx, b.Pool, b.hold, "test", hold.Because("a\x00b"))
	wantArgument(t, err, "reason")
	_, err = hold.Register(ctx, b.Pool, b.hold, "test", hold.ExpireAt(time.Now(), "release"))
	wantArgument(t, err, "on_expiry")
	_, err = hold.Register(ctx, b.Pool, b.hold, "test", hold.ExpireAt(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), hold.AlarmOnExpiry))
	wantArgument(t, err, "expires_at")
	if n := read[int](t, b.Pool, `SELECT (SELECT count(*) FROM outbox.hold_operation) + (SELECT count(*) FROM outbox.hold_audit)`); n != 0 {
		t.Errorf("%d rows were written", n)
	}
}
