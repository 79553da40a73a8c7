package saga_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// TestFailedReleaseWaitsLonger with each attempt, and never gives up: the events of what is completed must not be lost.
func TestFailedReleaseWaitsLonger(t *testing.T) {
	t.Parallel()
	b := setupWith(t, saga.Settings{Attempts: 2, Pause: time.Minute, MaxPause: 3 * time.Minute})
	c, id := b.coordinator(), b.draft()
	b.desk.first(func(_ context.Context, what string) error {
		if what == "release" {
			return errDied
		}
		return nil
	})
	if answer := b.run(c, b.win(b.request(id))); answer.Released {
		t.Error("it was released")
	}
	for attempt, pause := range []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 3 * time.Minute} {
		b.due(id)
		if r, _ := c.Tick(t.Context()); r.PutOff != 1 || r.Released != 0 {
			t.Fatalf("attempt %d: %+v", attempt, r)
		}
		wait := read[time.Duration](t, b.Pool, `SELECT next_attempt_at - clock_timestamp() FROM outbox.saga_operation`)
		if wait > pause || wait < pause-30*time.Second {
			t.Errorf("attempt %d: the next one is in %s, want %s", attempt, wait, pause)
		}
		b.wantState(id, saga.StateCompleted)
	}
	b.desk.first(nil)
	b.due(id)
	if r := b.tick(c); r.Released != 1 || !b.released(id) {
		t.Errorf("report is %+v", r)
	}
	b.wantPeople(id, 2, 0, 2)
}
