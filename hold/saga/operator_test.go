package saga_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

// TestOrderedAbortDoesNotWaitForTheGrace: but it waits for a holder that lives.
func TestOrderedAbortDoesNotWaitForTheGrace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	live := b.draft()
	b.win(b.request(live))
	if state, changed, err := b.store.Abort(t.Context(), b.Pool, live, "me", "why"); state != saga.StateInProgress || changed || err != nil {
		t.Errorf("live: %s, %v, %v", state, changed, err)
	}
	id := b.abandon(c, "1 s")
	if state, changed, err := b.store.Abort(t.Context(), b.Pool, id, "me", "why"); state != saga.StateCompensating || !changed || err != nil {
		t.Errorf("abandoned: %s, %v, %v", state, changed, err)
	}
	if o := b.claim(b.request(id)); o.Name() != "in_progress" {
		t.Errorf("claim is %s", o.Name())
	}
	b.tick(c)
	b.wantState(id, saga.StateAborted)
	b.wantPeople(id, 0, 0, 0)
	_, _, acts, err := b.store.Show(t.Context(), b.Pool, id)
	if err != nil || len(acts) != 2 || acts[0].Action != "order_abort" || acts[0].Actor != "me" || acts[0].Reason != "why" || acts[0].After != saga.StateCompensating {
		t.Errorf("audit is %v, %v", acts, err)
	}
	b.wantState(live, saga.StateInProgress)
}

func TestActsOfPeopleAreChecked(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.draft()
	b.win(b.request(id))
	for name, act := range map[string]func(uuid.UUID, string, string) error{
		"retry": func(id uuid.UUID, by, why string) error {
			_, _, err := b.store.Retry(t.Context(), b.Pool, id, by, why)
			return err
		},
		"abort": func(id uuid.UUID, by, why string) error {
			_, _, err := b.store.Abort(t.Context(), b.Pool, id, by, why)
			return err
		},
	} {
		if err := act(uuid.New(), "me", "why"); !errors.Is(err, saga.ErrNotFound) {
			t.Errorf("%s of nothing: %v", name, err)
		}
		var invalid *outbox.InvalidArgumentError
		if err := act(id, "", "why"); !errors.As(err, &invalid) || invalid.Argument != "actor" {
			t.Errorf("%s by nobody: %v", name, err)
		}
		if err := act(id, "me", ""); !errors.As(err, &invalid) || invalid.Argument != "reason" {
			t.Errorf("%s without a reason: %v", name, err)
		}
	}
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.saga_audit`); n != 0 {
		t.Errorf("%d lines of audit", n)
	}
	if _, _, _, err := b.store.Show(t.Context(), b.Pool, uuid.New()); !errors.Is(err, saga.ErrNotFound) {
		t.Errorf("show: %v", err)
	}
}

func TestListChooses(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	first, second, third := b.draft(), b.draft(), b.draft()
	b.win(b.request(first))
	b.win(b.request(second))
	b.win(b.request(third))
	b.exec(`UPDATE outbox.saga_operation SET state = 'completed', result = '{}', lease_holder = NULL, lease_expires_at = NULL WHERE operation_id = $1`, second)
	b.exec(`UPDATE outbox.saga_operation SET state = 'completed', result = '{}', events_released = true, lease_holder = NULL, lease_expires_at = NULL WHERE operation_id = $1`, third)
	for name, c := range map[string]struct {
		filter saga.Filter
		want   []uuid.UUID
	}{
		"all":         {saga.Filter{}, []uuid.UUID{first, second, third}},
		"by state":    {saga.Filter{States: []saga.State{saga.StateCompleted, saga.StateStuck}}, []uuid.UUID{second, third}},
		"unreleased":  {saga.Filter{Unreleased: true}, []uuid.UUID{second}},
		"by kind":     {saga.Filter{Kind: "other"}, nil},
		"by id":       {saga.Filter{Operation: first}, []uuid.UUID{first}},
		"at most one": {saga.Filter{Limit: 1}, []uuid.UUID{first}},
	} {
		found, err := b.store.List(t.Context(), b.Pool, c.filter)
		if err != nil || len(found) != len(c.want) {
			t.Errorf("%s: %v, %v", name, found, err)
			continue
		}
		for i, o := range found {
			if o.ID != c.want[i] || o.Kind != kind || o.LeaseLive != (o.ID == first) {
				t.Errorf("%s: %+v", name, o)
			}
		}
	}
}
