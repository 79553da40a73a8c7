package consumers_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// TestTripsOfAnEvent: an event costs two trips to the database, and what the handler itself sends behind its claim. A
// statement of ours that travels alone is a cost for everybody.
func TestTripsOfAnEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool, proxy := b.proxied()
	var mu sync.Mutex
	var trips []string
	proxy.Add(fault.PostgresRule{Match: func(m *fault.PostgresMessage) bool {
		if m.Point == fault.OnStatement && len(m.SQL) > 0 {
			mu.Lock()
			defer mu.Unlock()
			trips = append(trips, strings.Join(m.SQL, ";\n"))
		}
		return false
	}})
	a, err := consumers.NewApplier(pool, apply, b.config())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		outcome consumers.Outcome
		want    [][]string // what each trip has
	}{
		{consumers.Applied, [][]string{{"begin", "INSERT INTO outbox.consumer_fact"}, {"INSERT INTO public.refund"},
			{`JOIN "public"."refund"`, "INSERT INTO outbox.consumer_inbox", "consumer_control", "commit", `JOIN "public"."refund"`}}},
		{consumers.Replayed, [][]string{{"begin", "INSERT INTO outbox.consumer_fact"}, {"FROM outbox.consumer_fact"},
			{`JOIN "public"."refund"`, "INSERT INTO outbox.consumer_inbox", "consumer_control", "commit", `JOIN "public"."refund"`}}},
	} {
		trips = nil
		r, err := a.Apply(t.Context(), newEvent(t, "event-1", refund{ID: "re_1", Account: "acct_1", Amount: 500}))
		if err != nil || r.Outcome != c.outcome {
			t.Fatalf("%s: %v", r.Outcome, err)
		}
		if len(trips) != len(c.want) {
			t.Errorf("%s: %d trips, want %d:\n%s", c.outcome, len(trips), len(c.want), strings.Join(trips, "\n\n"))
			continue
		}
		for i, parts := range c.want {
			rest := trips[i]
			for _, part := range parts {
				var found bool
				if _, rest, found = strings.Cut(rest, part); !found {
					t.Errorf("%s: trip %d has no %q behind what comes before it:\n%s", c.outcome, i+1, part, trips[i])
				}
			}
		}
	}
}

// TestBeginThatFailsIsAnOutage: nothing is held against the event, whatever the handler makes of the error.
func TestBeginThatFailsIsAnOutage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct {
		action fault.PostgresAction
		handle func(error) error
	}{
		"cut, and the handler calls it permanent":     {fault.CutBefore(), consumers.Permanent},
		"cut, and the handler has words of its own":   {fault.CutAfter(), func(error) error { return errors.New("cannot claim") }},
		"refused, and the handler calls it permanent": {fault.Fail("53300"), consumers.Permanent},
		"refused, and the handler keeps it quiet":     {fault.FailFatally("57P01"), func(error) error { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, proxy := b.proxied()
			proxy.Add(fault.PostgresRule{Match: fault.Begins, Do: c.action})
			a, err := consumers.NewApplier(pool, func(ctx context.Context, tx *facts.Tx, e event.Event) error {
				return c.handle(apply(ctx, tx, e))
			}, b.config())
			if err != nil {
				t.Fatal(err)
			}
			factless, err := consumers.NewApplier(pool, func(_ context.Context, tx *facts.Tx, _ event.Event) error {
				facts.None(tx) // and asks nothing
				return nil
			}, b.config())
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range []*consumers.Applier{a, factless} {
				_, err = a.Apply(t.Context(), newEvent(t, "event "+name, refund{ID: name, Account: "acct_1", Amount: 500}))
				if consumers.Classify(err) != consumers.Outage || !strings.Contains(err.Error(), "begin") {
					t.Errorf("class %s of %v", consumers.Classify(err), err)
				}
			}
			b.wantEffects(0)
		})
	}
}
