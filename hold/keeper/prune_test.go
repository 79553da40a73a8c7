package keeper_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/keeper"
)

// What was completed and is not released yet is never pruned, however old: its events would
// be stranded. It stays listed as overdue until somebody decides.
func TestOverdueGenerationIsListedAndNeverPruned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waiting, ended := b.overdue(hold.AlarmOnExpiry), b.active()
	if _, err := hold.Release(t.Context(), b.Pool, ended, "test"); err != nil {
		t.Fatal(err)
	}
	b.exec(`UPDATE outbox.hold_generation SET decided_at = decided_at - interval '31 days', registered_at = registered_at - interval '999 days'`)
	if r := b.pass(b.keeper(keeper.Config{})); r.Pruned.Generations != 1 {
		t.Errorf("report is %+v, want one generation pruned", r)
	}
	b.wantState(waiting, hold.Active)
	page, err := hold.List(t.Context(), b.Pool, hold.Filter{Overdue: true})
	if err != nil || len(page) != 1 || page[0].Hold != waiting || page[0].Held != 1 {
		t.Errorf("overdue generations are %v with error %v", page, err)
	}
}

func TestRetentionWithinTheRetryHorizonIsRefused(t *testing.T) {
	t.Parallel()
	var refused *keeper.ConfigError
	_, err := keeper.New(nil, keeper.Config{Retention: hold.Retention{Keep: 48 * time.Hour, RetryHorizon: 72 * time.Hour}})
	if !errors.As(err, &refused) {
		t.Errorf("error is %v, want the configuration refused", err)
	}
}
