package history

// Liveness wants everything to be delivered in time once the last fault is over.
func Liveness(h *History) []Violation {
	var v verdict
	switch l := h.Limits; {
	case l.Drained.IsZero():
		late, lanes := 0, h.lanes()
		for _, f := range h.all() {
			if f.fate.leaves() && h.late(lanes, f) {
				late++
			}
		}
		v.add("%d events are not delivered %s after the last fault", late, l.Within)
	case l.Drained.Sub(l.Healed) > l.Within:
		v.add("delivered %s after the last fault, %s were allowed", l.Drained.Sub(l.Healed), l.Within)
	}
	return v
}

// OutcomesTrue wants what was reported committed to be in the ledger, and what was reported
// failed not to be.
func OutcomesTrue(h *History) []Violation {
	var v verdict
	for _, s := range h.Stages {
		for _, e := range s.Events {
			if committed := h.Committed[e.Name]; s.Outcome == OK && !committed || s.Outcome == Failed && committed {
				v.add("event %s of %s: the outcome was %s, and committed is %t", e.ID, s.Actor, s.Outcome, committed)
			}
		}
	}
	for _, d := range h.Decisions {
		release, decided := h.Decided[d.Generation]
		if d.Outcome == OK && (!decided || release != d.Release) {
			v.add("operation %s of %s: release %t was ok, and the ledger has decided %t, released %t", d.Operation, d.Actor, d.Release, decided, release)
		}
	}
	return v
}
