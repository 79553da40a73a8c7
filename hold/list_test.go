package hold_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// expire registers the generation so that it is overdue by an hour.
func (b *testBundle) expire(t testing.TB, h outbox.Hold, then hold.OnExpiry) {
	t.Helper()
	if _, err := hold.Register(t.Context(), b.Pool, h, "test", hold.ExpireAt(time.Now().Add(time.Hour), then)); err != nil {
		t.Fatalf("register: %v", err)
	}
	b.exec(t, `UPDATE outbox.hold_generation SET expires_at = clock_timestamp() - interval '1 hour'
		WHERE operation_id = $1 AND generation = $2`, h.Operation, h.Generation)
}

func (b *testBundle) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	outboxtest.Exec(t, b.Pool, sql, args...)
}

func (b *testBundle) list(t testing.TB, f hold.Filter) []hold.Listed {
	t.Helper()
	page, err := hold.List(t.Context(), b.Pool, f)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return page
}

func TestListShowsStatesCountsAndAges(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, "a", "b")
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test", hold.Because("done")); err != nil {
		t.Fatal(err)
	}
	b.expire(t, b.generation(2), hold.AlarmOnExpiry)
	b.stage(t, b.Pool, b.generation(2), "c", "d", "e")

	want := []hold.Listed{
		{Hold: b.generation(1), Generation: hold.Generation{
			Answer:    hold.Answer{State: hold.Released, MaxGeneration: 2, Released: 2},
			Principal: "test", DecidedBy: "test", Reason: "done", OnExpiry: hold.AlarmOnExpiry}},
		{Hold: b.generation(2), Generation: hold.Generation{
			Answer: hold.Answer{State: hold.Active, MaxGeneration: 2, Held: 3}, Principal: "test", OnExpiry: hold.AlarmOnExpiry}},
	}
	got := b.list(t, hold.Filter{Operation: b.hold.Operation})
	times := cmpopts.IgnoreFields(hold.Listed{}, "RegisteredAt", "DecidedAt", "ExpiresAt", "Age", "Overdue")
	if diff := cmp.Diff(want, got, times); diff != "" {
		t.Fatalf("list (-want +got):\n%s", diff)
	}
	if got[0].Age <= 0 || got[0].Overdue != 0 || got[1].Overdue < time.Hour {
		t.Errorf("age %s, overdue %s and %s; want the second overdue by an hour", got[0].Age, got[0].Overdue, got[1].Overdue)
	}
	overdue := b.list(t, hold.Filter{Overdue: true})
	if len(overdue) != 1 || overdue[0].Hold != b.generation(2) {
		t.Errorf("overdue is %v, want generation 2 alone", overdue)
	}
	if released := b.list(t, hold.Filter{State: hold.Released}); len(released) != 1 || released[0].Hold != b.generation(1) {
		t.Errorf("released is %v, want generation 1 alone", released)
	}
}

func TestListHasPagesThatMissNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var want []outbox.Hold
	for range 7 {
		a := b.anotherActive(t)
		a.register(t, a.generation(2))
		want = append(want, a.hold, a.generation(2))
	}
	var got []outbox.Hold
	for after := (outbox.Hold{}); ; {
		page := b.list(t, hold.Filter{After: after, Limit: 3})
		if len(page) == 0 {
			break
		}
		for _, l := range page {
			got = append(got, l.Hold)
		}
		after = got[len(got)-1]
	}
	slices.SortFunc(want, func(x, y outbox.Hold) int {
		return slices.Compare(append(x.Operation[:], byte(x.Generation)), append(y.Operation[:], byte(y.Generation)))
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("generations over the pages (-want +got):\n%s", diff)
	}
	_, err := hold.List(t.Context(), b.Pool, hold.Filter{Limit: 1001})
	wantArgument(t, err, "most")
	_, err = hold.List(t.Context(), b.Pool, hold.Filter{State: "open"})
	wantArgument(t, err, "only_state")
}

func TestHeldEventsAreListedInStagingOrderWithoutPayload(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	ids := names("e", 5)
	b.stage(t, b.Pool, b.hold, ids...)
	var got []string
	for after := int64(0); ; {
		page, err := hold.Events(t.Context(), b.Pool, b.hold, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			got, after = append(got, e.ID), e.Seq
			if e.Bytes != len(e.ID) || e.Source != "/test" || e.Type != "thing.made" || e.StagedAt.IsZero() {
				t.Errorf("event is %+v", e)
			}
		}
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("events over the pages (-want +got):\n%s", diff)
	}
}
