package hold_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

func TestStateFollowsTheGeneration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	_, err := hold.State(ctx, b.Pool, b.hold)
	wantRefused(t, err, outbox.ErrGenerationUnknown, b.hold, "unknown")

	check := func(want hold.Generation) {
		t.Helper()
		got, err := hold.State(ctx, b.Pool, b.hold)
		if err != nil {
			t.Fatalf("state: %v", err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(hold.Generation{}, "RegisteredAt", "DecidedAt")); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		now := read[time.Time](t, b.Pool, `SELECT clock_timestamp()`)
		for name, at := range map[string]time.Time{"RegisteredAt": got.RegisteredAt, "DecidedAt": got.DecidedAt} {
			known := name == "RegisteredAt" || got.State != hold.Active
			if known == at.IsZero() || known && (at.After(now) || now.Sub(at) > time.Minute || at.Location() != time.UTC) {
				t.Errorf("%s is %v, and it is %v", name, at, now)
			}
		}
	}
	b.register(t, b.hold)
	check(hold.Generation{Answer: hold.Answer{State: hold.Active, MaxGeneration: 1}, Principal: "test", OnExpiry: hold.AlarmOnExpiry})
	b.stage(t, b.Pool, b.hold, names("e", 3)...)
	check(hold.Generation{Answer: hold.Answer{State: hold.Active, MaxGeneration: 1, Held: 3}, Principal: "test", OnExpiry: hold.AlarmOnExpiry})
	if _, err := hold.Release(ctx, b.Pool, b.hold, "operator", hold.Because("by hand")); err != nil {
		t.Fatalf("release: %v", err)
	}
	check(hold.Generation{Answer: hold.Answer{State: hold.Released, MaxGeneration: 1, Released: 3},
		Principal: "test", OnExpiry: hold.AlarmOnExpiry, DecidedBy: "operator", Reason: "by hand"})
}

// A reader is never stopped by a decision, nor stops one.
func TestStateWaitsForNobody(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	tx := b.begin(t, pgx.TxOptions{})
	if _, err := hold.Cancel(t.Context(), tx, b.hold, "test"); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	got, err := hold.State(t.Context(), b.Pool, b.hold)
	if err != nil || got.State != hold.Active {
		t.Errorf("state is %q with error %v, want active until the cancel commits", got.State, err)
	}
}

// Asking about a generation that is unknown doesn't end the caller's transaction.
func TestTransactionGoesOnAfterAnUnknownState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx := b.begin(t, pgx.TxOptions{})
	_, err := hold.State(t.Context(), tx, b.hold)
	wantRefused(t, err, outbox.ErrGenerationUnknown, b.hold, "unknown")
	if _, err := hold.Register(t.Context(), tx, b.hold, "test"); err != nil {
		t.Errorf("register: %v", err)
	}
}
