package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/e2e/demo/check"
)

// result is what the last line says. All numbers but the last five count events.
type result struct {
	check.Verdict
	RolledBack        int64   `json:"rolled_back"`         // staged in transactions and savepoints that were undone
	RefusedLateWrites int64   `json:"refused_late_writes"` // steps of a checkout that was decided
	Orders            int64   `json:"orders"`
	RelayKills        int     `json:"relay_kills"`
	Seconds           float64 `json:"seconds"` // from the start of the demo to the verdict
	Seed              uint64  `json:"seed"`
}

// report writes the summary and the last line.
func (d *demo) report(r *result, f *fleet) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var b strings.Builder
	d.summarise(&b, r)
	if !r.OK() {
		fmt.Fprintf(&b, "\nThe first findings:\n  %s\n", strings.Join(r.Findings, "\n  "))
		fmt.Fprintln(&b, f.logTails())
	}
	fmt.Fprintf(&b, "\nDEMO %s\n", line)
	_, err = fmt.Fprint(d.stdout, b.String())
	return err
}

// summarise says in plain words what was just proven, or that it was not.
func (d *demo) summarise(b *strings.Builder, r *result) {
	fmt.Fprintf(b, `
What happened
  %d customers ordered within %.1f s. Each transaction wrote business rows and staged their events with them.
  %d events were committed. %d more were staged and then rolled back, some of them to a savepoint.
  %d checkouts held their events until they were decided; %d were released by two callers at the same time.
`, r.Orders, d.placing.Seconds(), r.Committed, r.RolledBack, d.tally.operations.Load(), d.tally.doubled.Load())
	if t := d.takeover; t.killed != "" {
		fmt.Fprintf(b, "  %s was killed with SIGKILL; %s took over its %d lanes after %.1f s; %s replaced it.\n",
			t.killed, t.heir, t.lanes, t.took.Seconds(), t.successor)
	}
	fmt.Fprint(b, "\nWhat was checked: the business tables against every message of the stream; the outbox was not asked\n")
	verdict := func(faults int, what, format string, args ...any) {
		mark := "ok    "
		if faults > 0 {
			mark = "FAILED"
		}
		fmt.Fprintf(b, "  %s  %-34s %s\n", mark, what, fmt.Sprintf(format, args...))
	}
	verdict(r.Lost, "nothing is lost", "%d of %d committed events that may leave are in the stream", r.Committed-r.Held-r.Dropped-r.Lost, r.Committed-r.Held-r.Dropped)
	verdict(r.Phantom, "nothing is invented", "%d messages without a committed transaction", r.Phantom)
	verdict(r.DroppedPublished, "what was called off never leaves", "%d of %d dropped events in the stream", r.DroppedPublished, r.Dropped)
	verdict(r.HeldPublished, "what is undecided waits", "%d of %d held events in the stream", r.HeldPublished, r.Held)
	verdict(r.OrderViolations, "each key keeps its order", "%d events behind a later one of their order or payment", r.OrderViolations)
	verdict(r.BodyMismatches, "payloads arrive bit for bit", "%d with another SHA-256 than was recorded", r.BodyMismatches)
	verdict(r.InvalidEvents, "messages are valid CloudEvents", "%d invalid, or with other attributes than were staged", r.InvalidEvents)
	verdict(0, "a decided checkout is closed", "%d late steps, all refused", r.RefusedLateWrites)
	if r.Duplicates == 0 {
		verdict(0, "no event is in the stream twice", "in spite of the killed relay")
	} else {
		fmt.Fprintf(b, "  note    %d events are in the stream twice: delivery is at least once, consumers drop them by their id\n", r.Duplicates)
	}
}
