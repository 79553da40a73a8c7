package history

// stored is a message that the stream has, or had until a rollback.
type stored struct {
	Message
	removed int // by which rollback, from 1 on; 0 for what the stream has
}

// spot is where the stream has, or had, a message. After a rollback a sequence is given again.
type spot struct {
	sequence uint64
	id       string
}

func (m Message) spot() spot { return spot{m.Sequence, m.MessageID} }

// everStored returns everything that was ever stored, in the order in which it was: what a rollback
// removed comes after what it left, and before what was stored since.
func (h *History) everStored() []stored {
	var ever []stored
	next := 0
	remove := func() {
		for _, m := range h.Rollbacks[next].Lost {
			ever = append(ever, stored{m, next + 1})
		}
		next++
	}
	for _, m := range h.Stream {
		for next < len(h.Rollbacks) && h.Rollbacks[next].before(m) {
			remove()
		}
		ever = append(ever, stored{Message: m})
	}
	for next < len(h.Rollbacks) {
		remove()
	}
	return ever
}

// before says whether the rollback is older than a message that the stream has.
func (r *Rollback) before(m Message) bool {
	return len(r.Lost) == 0 || r.Lost[0].Sequence <= m.Sequence
}

// repaired returns the message ids that a repair stored.
func (h *History) repaired() map[string]bool {
	ids := map[string]bool{}
	for _, a := range h.Acks {
		if a.Relay == Repairer && a.Code == 0 && !a.Duplicate && !a.Forged {
			ids[a.MessageID] = true
		}
	}
	return ids
}

// Repaired counts the events that a repair stored.
func (h *History) Repaired() int { return len(h.repaired()) }

// RepairExact wants every event that a repair published to be one that a rollback removed: a
// repair is no cover for a relay that lost something.
func RepairExact(h *History) []Violation {
	var v verdict
	h.index()
	seen := map[string]bool{}
	for _, p := range h.Publications {
		if p.Relay != Repairer || seen[p.MessageID] {
			continue
		}
		seen[p.MessageID] = true
		f := h.ids[p.MessageID]
		if f == nil {
			v.add("a repair published %s, which nobody staged", p.MessageID)
			continue
		}
		removed := false
		for _, i := range f.ever {
			removed = removed || h.ever[i].removed != 0
		}
		if !removed {
			v.add("a repair published event %s, which no rollback had removed", f.ID)
		}
	}
	return v
}
