package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/consumerstest"
	"github.com/holdfast-dev/holdfast/e2e/payments/perdiem"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func placement(n int) perdiem.Placement {
	return perdiem.Placement{Placement: fmt.Sprint("pl_", n), Start: "2026-03-01", Worker: "worker-1", Region: "north", Days: 5}
}

func activated(n int) event.Event {
	return tell(fmt.Sprint("act_", n), perdiem.Activated, placement(n))
}

func ended(n int) event.Event {
	p := placement(n)
	p.Region, p.Days = "", 0
	return tell(fmt.Sprint("end_", n), perdiem.Ended, p)
}

func rate(version, cents int64) event.Event {
	return tell(fmt.Sprint("rate_", version), perdiem.RateSet, perdiem.Rate{Region: "north", Version: version, Cents: cents})
}

func longer(n int) event.Event {
	p := placement(n)
	p.Days++
	return tell(fmt.Sprint("longer_", n), perdiem.Activated, p)
}

func TestPerdiemKeepsTheProtocol(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(int) event.Event{"activations": activated, "ends": ended} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := consumerstest.Subject{
				Open: open, Handler: perdiem.Handle, Config: perdiem.Config(streamName), Event: of, NoAttributes: name == "ends",
			}
			if !s.NoAttributes {
				s.Mismatch = longer
			}
			consumerstest.Run(t, s)
		})
	}
}

// TestEndedPlacementIsNeverGrantedAgain, and neither is one whose allowance is void: the status does not free the
// fact, and not the index.
func TestEndedPlacementIsNeverGrantedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []event.Event
		sql    string // what somebody does behind them
		want   string
	}{
		"ended":                      {[]event.Event{activated(1), ended(1)}, "", "ended"},
		"void":                       {[]event.Event{activated(1)}, "UPDATE perdiem.allowance SET status = 'void'", "void"},
		"paid and ended":             {[]event.Event{activated(1)}, "UPDATE perdiem.allowance SET status = 'paid'", "paid"},
		"ended before it is granted": {[]event.Event{ended(1), activated(1)}, "", "ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := outboxtest.NewDatabase(t)
			makeTables(t, db.Pool)
			s := &site{t: t, db: db}
			deliver := func(events ...event.Event) []consumers.Result {
				return consumerstest.Deliver(t, db.Pool, perdiem.Handle, perdiem.Config(streamName), events...)
			}
			deliver(append([]event.Event{rate(1, 2800)}, c.events...)...)
			if c.sql != "" {
				s.exec(c.sql)
			}
			again := activated(1)
			again.SetID("years later")
			for _, r := range deliver(again, activated(1), ended(1), again)[:2] {
				if r.Outcome != consumers.Replayed {
					t.Errorf("the replay is %s", r.Outcome)
				}
			}
			if got := query[string](s, "SELECT string_agg(status, ' ') FROM perdiem.allowance"); got != c.want {
				t.Errorf("allowances are %q, want one that is %s", got, c.want)
			}
			_, err := db.Pool.Exec(t.Context(), `INSERT INTO perdiem.allowance (fact_id, placement, start, worker, days, cents, kind, status)
				SELECT f.id, 'pl_1', '2026-03-01', 'worker-1', 5, 1, 'per_diem', 'due' FROM outbox.consumer_fact AS f WHERE f.fact_type = 'placement_end'`)
			wantRefused(t, err, "allowance_once")
		})
	}
}

// TestLegalAllowancesStayPossible: a later placement of the worker, and adjustments of the same one.
func TestLegalAllowancesStayPossible(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	makeTables(t, db.Pool)
	s := &site{t: t, db: db}
	later := placement(1)
	later.Start = "2026-09-01"
	for i, r := range consumerstest.Deliver(t, db.Pool, perdiem.Handle, perdiem.Config(streamName),
		rate(1, 2800), activated(1), ended(1), tell("act_later", perdiem.Activated, later))[1:] {
		if r.Outcome != consumers.Applied {
			t.Errorf("event %d is %s", i+1, r.Outcome)
		}
	}
	s.exec(`INSERT INTO perdiem.allowance (placement, start, worker, days, cents, kind, status)
		SELECT 'pl_1', '2026-03-01', 'worker-1', 1, -100, 'adjustment', 'due' FROM generate_series(1, 2)`)
	if got := query[string](s, "SELECT string_agg(kind || ' ' || status, ', ' ORDER BY start, id) FROM perdiem.allowance"); got !=
		"per_diem ended, adjustment due, adjustment due, per_diem due" {
		t.Errorf("allowances are %q", got)
	}
}

// TestReplayNeedsNoRate: neither one that is gone nor one that has changed. A fact that is new does, and
// one that is told with other days is judged by the handler.
func TestReplayNeedsNoRate(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	makeTables(t, db.Pool)
	s := &site{t: t, db: db}
	applier, err := consumers.NewApplier(db.Pool, perdiem.Handle, perdiem.Config(streamName))
	if err != nil {
		t.Fatal(err)
	}
	want := func(e event.Event, outcome consumers.Outcome, class consumers.Class) {
		t.Helper()
		if r, err := applier.Apply(t.Context(), e); r.Outcome != outcome || consumers.Classify(err) != class {
			t.Errorf("%s is %s, %v; want %s, %s", e.ID(), r.Outcome, err, outcome, class)
		}
	}
	want(activated(1), "", consumers.Outage)
	want(rate(2, 2800), consumers.Ignored, "")
	want(rate(1, 1), consumers.Ignored, "") // late
	want(activated(1), consumers.Applied, "")
	want(rate(3, 3000), consumers.Ignored, "")
	want(activated(1), consumers.Replayed, "")
	want(longer(1), consumers.Quarantined, "")
	s.exec("DELETE FROM perdiem.rate")
	want(activated(1), consumers.Replayed, "")
	want(activated(2), "", consumers.Outage)
	if got := query[int](s, "SELECT sum(cents) FROM perdiem.allowance"); got != 5*2800 {
		t.Errorf("%d were granted, want the rate of the first time", got)
	}
}

// TestEndAndActivationAtOnce: whichever is second knows of the first.
func TestEndAndActivationAtOnce(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	makeTables(t, db.Pool)
	s := &site{t: t, db: db}
	applier, err := consumers.NewApplier(db.Pool, perdiem.Handle, perdiem.Config(streamName))
	if err != nil {
		t.Fatal(err)
	}
	apply := func(e event.Event) {
		if r, err := applier.Apply(t.Context(), e); err != nil {
			t.Errorf("%s is %s, %v", e.ID(), r.Outcome, err)
		}
	}
	apply(rate(1, 2800))
	var all sync.WaitGroup
	for n := range 40 {
		for _, e := range []event.Event{activated(n), ended(n), activated(n)} {
			all.Go(func() { apply(e) })
		}
	}
	all.Wait()
	if got := query[string](s, "SELECT count(*) || ' ' || string_agg(DISTINCT status, ' ') FROM perdiem.allowance"); got != "40 ended" {
		t.Errorf("allowances are %q, want 40 ended", got)
	}
	if log := db.ServerLog(t); strings.Contains(log, "ERROR") {
		t.Errorf("the server logged errors:\n%s", log)
	}
}
