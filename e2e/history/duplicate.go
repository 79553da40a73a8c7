package history

import "time"

// BoundedDuplicates wants every further copy of an event to have a cause: the broker's window
// was over, the broker was disrupted between the copies, or a rollback removed the one before. And it
// wants no event to have been stored more often than it was published.
func BoundedDuplicates(h *History) []Violation {
	var v verdict
	sent := map[string]int{}
	for _, p := range h.Publications {
		sent[p.MessageID]++
	}
	for _, f := range h.all() {
		for i := 1; i < len(f.ever); i++ {
			one, next := h.ever[f.ever[i-1]], h.ever[f.ever[i]]
			removed := one.removed != 0 && one.removed != next.removed
			if !removed && next.At.Sub(one.At) < h.Limits.Window && !h.disrupted(one.At, next.At) {
				v.add("event %s is at sequence %d, and %s later at %d again", f.ID, one.Sequence, next.At.Sub(one.At), next.Sequence)
			}
		}
		if n := sent[MessageID(f.Name)]; len(h.Publications) > 0 && len(f.ever) > n {
			v.add("event %s has %d copies of %d publications", f.ID, len(f.ever), n)
		}
	}
	return v
}

// ExactHandover wants no second copy that a look back would have prevented: one that another
// relay stored than the first, although the first was in the stream before that relay
// claimed the lane. Neither a window nor a disruption excuses it. Events that were
// refused and waited are not handed over with their lane.
func ExactHandover(h *History) []Violation {
	var v verdict
	by := h.storedBy()
	lanes := h.lanes()
	for _, f := range h.all() {
		if f.row == nil || len(f.waits) > 0 {
			continue
		}
		for i := 1; i < len(f.copies); i++ {
			one, next := h.Stream[f.copies[i-1]], h.Stream[f.copies[i]]
			relay := by[next.spot()]
			claim, ok := lastClaim(lanes[f.row.Lane], relay, next.At)
			if ok && by[one.spot()] != relay && one.At.Before(claim.Add(-h.Limits.Skew)) {
				v.add("event %s is at sequence %d since %s; %s claimed its lane at %s and stored it at %d again",
					f.ID, one.Sequence, clock(one.At), relay, clock(claim), next.Sequence)
			}
		}
	}
	return v
}

// storedBy says which relay stored a message. The acknowledgement of a whole batch tells the sequence
// of its last message only: of another one it means the last copy up to there.
func (h *History) storedBy() map[spot]string {
	by := map[spot]string{}
	copies := map[string][]Message{}
	for _, m := range h.Stream {
		copies[m.MessageID] = append(copies[m.MessageID], m)
	}
	for _, a := range h.Acks {
		if a.Code != 0 || a.Duplicate || a.Forged {
			continue
		}
		at := spot{a.Sequence, a.MessageID}
		for _, m := range copies[a.MessageID] {
			if m.Sequence <= a.Upto {
				at = m.spot()
			}
		}
		if _, known := by[at]; !known || a.Upto == 0 {
			by[at] = a.Relay
		}
	}
	return by
}

// lastClaim returns when a relay last claimed a lane before a time.
func lastClaim(moves []Move, relay string, before time.Time) (at time.Time, ok bool) {
	for _, m := range moves {
		if m.After.Token != "" && m.After.Token != m.Before.Token && m.After.Owner == relay && m.At.Before(before) {
			at, ok = m.At, true
		}
	}
	return at, ok
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
