package hold_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// undo is a call that cancels, under both its names.
var undo = map[string]func(*testing.T, hold.DB, outbox.Hold) (hold.Answer, error){
	"cancel": func(t *testing.T, db hold.DB, h outbox.Hold) (hold.Answer, error) {
		return hold.Cancel(t.Context(), db, h, "test")
	},
	"drop": func(t *testing.T, db hold.DB, h outbox.Hold) (hold.Answer, error) {
		return hold.Drop(t.Context(), db, h, "test")
	},
}

func TestCancelledEventsAreGone(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for name, cancel := range undo {
		t.Run(name, func(t *testing.T) {
			b := db.anotherActive(t)
			b.stage(t, b.Pool, b.hold, names("e", 5)...)
			got, err := cancel(t, b.Pool, b.hold)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := hold.Answer{State: hold.Cancelled, MaxGeneration: 1, Dropped: 5, Changed: true}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.event_outbox WHERE hold_operation_id = $1`, b.hold.Operation); n != 0 {
				t.Errorf("%d events are left", n)
			}
			err = stage(t.Context(), b.Pool, b.hold, "late")
			wantSQLState(t, err, "HF011")
		})
	}
}

func TestCancelLeavesOtherGenerationsAlone(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, "first")
	b.register(t, b.generation(2))
	b.stage(t, b.Pool, b.generation(2), "second")
	read[string](t, b.Pool, `SELECT outbox.publish('/test', 'thing.made', id => 'live')`)
	if _, err := hold.Cancel(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	left := column[string](t, b.Pool, `SELECT event_id FROM outbox.event_outbox ORDER BY seq`)
	if diff := cmp.Diff([]string{"second", "live"}, left); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestCancelAgainGivesTheSameAnswerAndChangesNothing(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, names("e", 2)...)
	first, err := hold.Cancel(t.Context(), b.Pool, b.hold, "first")
	if err != nil {
		t.Fatalf("cancel: %v", err)
	}
	for name, cancel := range undo {
		again, err := cancel(t, b.Pool, b.hold)
		if err != nil {
			t.Fatalf("%s again: %v", name, err)
		}
		want := first
		want.Changed = false
		if diff := cmp.Diff(want, again); diff != "" {
			t.Errorf("%s: answers (-first +again):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{"register", "cancel"}, b.auditActions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestCancelAfterReleaseIsRefusedWithTheState(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for name, cancel := range undo {
		t.Run(name, func(t *testing.T) {
			b := db.anotherActive(t)
			b.stage(t, b.Pool, b.hold, "e")
			if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
				t.Fatalf("release: %v", err)
			}
			_, err := cancel(t, b.Pool, b.hold)
			wantRefused(t, err, outbox.ErrGenerationReleased, b.hold, "released")
			if diff := cmp.Diff([]string{"e"}, b.log(t)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// The call that the operation made may still be on its way. It must find the door shut.
func TestCancelOfAnUnknownGenerationLeavesATombstone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got, err := hold.Cancel(t.Context(), b.Pool, b.hold, "reconciler", hold.Because("crashed"))
	if err != nil {
		t.Fatalf("cancel: %v", err)
	}
	if diff := cmp.Diff(hold.Answer{State: hold.Cancelled, MaxGeneration: 1, Changed: true}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	state, err := hold.State(t.Context(), b.Pool, b.hold)
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	if state.Principal != "reconciler" || state.DecidedBy != "reconciler" || state.Reason != "crashed" || state.DecidedAt.IsZero() {
		t.Errorf("tombstone is %+v", state)
	}
}

func TestRegisterAfterCancelStaysCancelled(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for name, known := range map[string]bool{"tombstone": false, "registered before": true} {
		t.Run(name, func(t *testing.T) {
			b := db.another()
			if known {
				b.register(t, b.hold)
			}
			if _, err := hold.Cancel(t.Context(), b.Pool, b.hold, "test"); err != nil {
				t.Fatalf("cancel: %v", err)
			}
			got, err := hold.Register(t.Context(), b.Pool, b.hold, "late")
			if err != nil {
				t.Fatalf("register: %v", err)
			}
			if diff := cmp.Diff(hold.Answer{State: hold.Cancelled, MaxGeneration: 1}, got); diff != "" {
				t.Errorf("answer of register (-want +got):\n%s", diff)
			}
			wantSQLState(t, stage(t.Context(), b.Pool, b.hold, "late"), "HF011")
			_, err = hold.Release(t.Context(), b.Pool, b.hold, "late")
			wantRefused(t, err, outbox.ErrGenerationCancelled, b.hold, "cancelled")
		})
	}
}
