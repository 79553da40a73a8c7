package hold_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/hold"
)

func TestMeasureCountsWhatWaitsAndForHowLong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store, err := hold.New(hold.Config{})
	if err != nil {
		t.Fatal(err)
	}
	measure := func() hold.Measurement {
		m, err := store.Measure(t.Context(), b.Pool)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := measure(); m != (hold.Measurement{}) {
		t.Errorf("an empty database has %+v", m)
	}
	b.createEntities(t)
	b.register(t, b.hold)
	b.stage(t, b.Pool, b.hold, "a")
	b.register(t, b.generation(2))
	b.stage(t, b.Pool, b.generation(2), "b", "c")
	late := b.another()
	late.expire(t, late.hold, hold.AlarmOnExpiry)
	late.stage(t, b.Pool, late.hold, "d", "e", "f")
	undone, left := b.anotherActive(t), b.anotherActive(t)
	undone.applied(t, undone.hold, "x")
	left.applied(t, left.hold, "y")
	b.exec(t, `UPDATE entity SET shared = true`)
	undone.cancel(t, undone.hold)
	left.cancel(t, left.hold)
	if _, err := hold.Compensate(t.Context(), b.Pool, undone.hold, "test", &service{}); err != nil {
		t.Fatal(err)
	}
	b.exec(t, `UPDATE outbox.event_outbox SET staged_at = staged_at - interval '2 hours' WHERE event_id = 'c'`)
	m := measure()
	want := hold.Measurement{HeldActive: 2, HeldOverdue: 3, HeldSuperseded: 1, Active: 3, Overdue: 1, Uncompensated: 1, Quarantined: 1}
	if diff := cmp.Diff(want, m, cmpopts.IgnoreFields(hold.Measurement{}, "OldestHeld", "OldestOverdue")); diff != "" {
		t.Errorf("measurement (-want +got):\n%s", diff)
	}
	if m.OldestHeld < 2*time.Hour || m.OldestOverdue < time.Hour {
		t.Errorf("the oldest held is %s old and the oldest overdue is so for %s", m.OldestHeld, m.OldestOverdue)
	}
}
