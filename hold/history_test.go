package hold_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// TestEventHistory: an event has the decisions about its generation, and one that dropped it alone; it does
// not have those about other events or other generations.
func TestEventHistory(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, "a", "b")
	if _, err := hold.DropEvent(t.Context(), b.Pool, b.hold, hold.EventName{ID: "b"}, "alice", "not wanted"); err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "checkout", hold.Because("paid")); err != nil {
		t.Fatal(err)
	}
	store, err := hold.New(hold.Config{})
	if err != nil {
		t.Fatal(err)
	}
	history := func(id string, h outbox.Hold) (acts []string) {
		t.Helper()
		found, err := store.EventHistory(t.Context(), b.Pool, id, h)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range found {
			if a.Hold != b.hold || a.At.IsZero() || a.Events != 1 {
				t.Errorf("act %+v, want one of hold %+v about one event", a, b.hold)
			}
			acts = append(acts, a.Action+" by "+a.Actor+" because "+a.Reason)
		}
		return acts
	}
	dropped, released := "drop-event by alice because not wanted", "release by checkout because paid"
	other := outbox.Hold{Operation: b.hold.Operation, Generation: 2}
	for _, c := range []struct {
		id   string
		hold outbox.Hold
		want []string
	}{
		{"a", b.hold, []string{released}},
		{"b", b.hold, []string{dropped, released}},
		{"b", outbox.Hold{}, []string{dropped}},
		{"a", other, nil},
	} {
		if diff := cmp.Diff(c.want, history(c.id, c.hold)); diff != "" {
			t.Errorf("history of %s under %+v (-want +got):\n%s", c.id, c.hold, diff)
		}
	}
}
