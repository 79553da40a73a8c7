package history

import "time"

// BoundedDuplicates wants every further copy of an event to have a cause: the broker's window
// was over, or the broker was disrupted between the copies. And it wants no event to have
// more copies than publications.
func BoundedDuplicates(h *History) []Violation {
	var v verdict
	sent := map[string]int{}
	for _, p := range h.Publications {
		sent[p.MessageID]++
	}
	for _, f := range h.all() {
		for i := 1; i < len(f.copies); i++ {
			one, next := h.Stream[f.copies[i-1]], h.Stream[f.copies[i]]
			if next.At.Sub(one.At) < h.Limits.Window && !h.disrupted(one.At, next.At) {
				v.add("event %s is at sequence %d, and %s later at %d again", f.ID, one.Sequence, next.At.Sub(one.At), next.Sequence)
			}
		}
		if n := sent[MessageID(f.Name)]; len(h.Publications) > 0 && len(f.copies) > n {
			v.add("event %s has %d copies of %d publications", f.ID, len(f.copies), n)
		}
	}
	return v
}

// Duplicates counts the further copies of events.
func (h *History) Duplicates() int {
	n := 0
	for _, f := range h.all() {
		n += max(0, len(f.copies)-1)
	}
	return n
}

// disrupted says whether the broker was in trouble at any time between two others.
func (h *History) disrupted(from, to time.Time) bool {
	for _, s := range h.Limits.Disruptions {
		endless := s.To.IsZero()
		if s.From.Before(to.Add(h.Limits.Skew)) && (endless || s.To.After(from.Add(-h.Limits.Skew))) {
			return true
		}
	}
	return false
}
