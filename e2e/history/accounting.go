package history

// Accounting wants the settled batches to count each settled event once, and once more if it was
// repaired, and no relay to count more events than it got acknowledgements.
func Accounting(h *History) []Violation {
	var v verdict
	lanes := h.lanes()
	var settled int64
	for _, f := range h.all() {
		if f.row != nil && f.row.Tx != 0 && !f.dead() && !h.late(lanes, f) {
			settled++
		}
	}
	if n := int64(h.Repaired()); settled+n != h.Settled {
		v.add("%d events are settled and %d were repaired, and the settled batches count %d", settled, n, h.Settled)
	}
	acked := map[string]int64{}
	for _, a := range h.Acks {
		if a.Code == 0 && a.Delivered {
			acked[a.Relay]++
		}
	}
	for _, c := range h.Counters {
		if got := acked[c.Relay]; c.Published > got {
			v.add("%s counts %d published events, and got %d acknowledgements", c.Relay, c.Published, got)
		}
	}
	return v
}

// refusals are the codes with which a broker refuses a message for itself.
var refusals = map[int]bool{10054: true, 10097: true}

// RefusalsCounted wants no event to have more attempts than there were refusals of it. So an
// outage counts nothing, and nothing is given up that was not refused.
func RefusalsCounted(h *History) []Violation {
	var v verdict
	refused := map[string]int{}
	for _, a := range h.Acks {
		if refusals[a.Code] {
			refused[a.MessageID]++
		}
	}
	for _, f := range h.all() {
		attempts := 0
		for _, w := range f.waits {
			attempts = max(attempts, w.Attempts)
		}
		switch n := refused[MessageID(f.Name)]; {
		case attempts > n:
			v.add("event %s has %d attempts, and was refused %d times", f.ID, attempts, n)
		case f.dead() && n == 0:
			v.add("event %s was given up, and was never refused", f.ID)
		}
	}
	return v
}

// Refused counts the events that waited, and those of them that were given up.
func (h *History) Refused() (waited, dead int) {
	for _, f := range h.all() {
		if _, ok := f.waited(); ok {
			waited++
		}
		if f.dead() {
			dead++
		}
	}
	return waited, dead
}
