package consumerstest

import (
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers"
)

// Deliver delivers events one after the other, as a consumer would, and returns what became of
// each. An error fails the test: use [consumers.NewApplier] where one is expected.
func Deliver(t testing.TB, db *pgxpool.Pool, handler consumers.Handler, cfg consumers.Config, events ...event.Event) []consumers.Result {
	t.Helper()
	applier, err := consumers.NewApplier(db, handler, cfg)
	if err != nil {
		t.Fatalf("consumerstest: %v", err)
	}
	results := make([]consumers.Result, len(events))
	for i, e := range events {
		if results[i], err = applier.Apply(t.Context(), e); err != nil {
			t.Fatalf("consumerstest: deliver event %s: %v", e.ID(), err)
		}
	}
	return results
}
