package retry_test

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/relay/retry"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestOperatorNeedsNoRightOnTheTables: people decide about dead letters with the rights of their
// own role, which sees no payload.
func TestOperatorNeedsNoRightOnTheTables(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := b.bury("k"), b.bury("")
	names := gen.RoleNames{}
	for _, role := range canonical.Roles() {
		names[role] = b.db.Name + "_" + string(role)
	}
	sql, err := gen.Roles(canonical.DefaultParams(), names)
	if err != nil {
		t.Fatal(err)
	}
	b.exec(sql)
	login := b.db.Name + "_person"
	b.exec(`CREATE ROLE ` + login + ` LOGIN IN ROLE ` + names[canonical.Operator])
	u, err := url.Parse(b.db.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(login)
	person, err := retry.New(openPool(t, relayURL(t, u.String())), retry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := person.List(t.Context(), retry.Filter{})
	if err != nil || len(list) != 2 || list[0].Bytes != 2 {
		t.Fatalf("dead letters %+v (%v)", list, err)
	}
	own, err := b.List(t.Context(), retry.Filter{})
	if diff := cmp.Diff(own, list); err != nil || diff != "" {
		t.Errorf("the view and the table differ: %v\n%s", err, diff)
	}
	if moved, err := person.Requeue(t.Context(), []int64{list[0].ID}, "person", "limit raised"); err != nil || len(moved) != 1 {
		t.Errorf("requeued %v (%v)", moved, err)
	}
	if gone, err := person.Discard(t.Context(), []int64{list[1].ID}, "person", "test data"); err != nil || len(gone) != 1 {
		t.Errorf("discarded %v (%v)", gone, err)
	}
	for _, c := range []retry.Claim{first, second} {
		if history, err := person.History(t.Context(), c.Lane, c.Seq); err != nil || len(history) != 2 || history[1].Actor != "person" {
			t.Errorf("history %+v (%v)", history, err)
		}
	}
}

func TestGroupsCountWhatAFilterChooses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.bury("k")
	b.bury("")
	b.bury("")
	b.exec(`UPDATE outbox.outbox_dead_letter SET reason_code = 'rejected', type = 'other' WHERE id = (SELECT max(id) FROM outbox.outbox_dead_letter)`)
	times := cmpopts.IgnoreFields(retry.Group{}, "Oldest", "Newest")
	for _, c := range []struct {
		filter           retry.Filter
		byReason, byType bool
		want             []retry.Group
	}{
		{retry.Filter{Limit: 1}, false, false, []retry.Group{{Count: 3}}},
		{retry.Filter{}, true, true, []retry.Group{{Reason: "message_too_large", Type: "test.happened", Count: 2}, {Reason: "rejected", Type: "other", Count: 1}}},
		{retry.Filter{}, false, true, []retry.Group{{Type: "test.happened", Count: 2}, {Type: "other", Count: 1}}},
		{retry.Filter{Key: "k"}, true, false, []retry.Group{{Reason: "message_too_large", Count: 1}}},
		{retry.Filter{Type: "nothing"}, false, false, []retry.Group{}},
	} {
		got, err := b.Groups(t.Context(), c.filter, c.byReason, c.byType)
		if diff := cmp.Diff(c.want, got, times, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("groups of %+v: %v\n%s", c.filter, err, diff)
		}
		for _, g := range got {
			if g.Oldest.IsZero() || g.Newest.Before(g.Oldest) {
				t.Errorf("group %+v has no times", g)
			}
		}
	}
}

func TestTraceFindsWhatIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.bury("")
	b.bury("")
	list, err := b.List(t.Context(), retry.Filter{EventIDs: []string{c.EventID}})
	if err != nil || len(list) != 1 {
		t.Fatalf("dead letters %+v (%v)", list, err)
	}
	if _, err := b.Discard(t.Context(), []int64{list[0].ID}, "ops", "test data"); err != nil {
		t.Fatal(err)
	}
	byID, err := b.Trace(t.Context(), list[0].ID, "")
	if err != nil || len(byID) != 2 || byID[1].Action != "discarded" || byID[1].EventID != c.EventID {
		t.Errorf("history by the dead letter's id %+v (%v)", byID, err)
	}
	byEvent, err := b.Trace(t.Context(), 0, c.EventID)
	if diff := cmp.Diff(byID, byEvent); err != nil || diff != "" {
		t.Errorf("history by the event's id: %v\n%s", err, diff)
	}
	if none, err := b.Trace(t.Context(), 0, "nothing"); err != nil || len(none) != 0 {
		t.Errorf("history of nothing: %+v (%v)", none, err)
	}
}
