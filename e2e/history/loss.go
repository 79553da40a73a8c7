package history

// NoLoss wants every event that was committed and may leave to be in the stream, or to have
// been given up, of which RefusalsCounted speaks. What a rollback removed is no excuse: it must have
// been repaired. A finding says whether the broker had acknowledged it: then it is the broker that lost it.
func NoLoss(h *History) []Violation {
	var v verdict
	acked := map[string]uint64{}
	for _, a := range h.Acks {
		if a.Code == 0 && !a.Forged {
			acked[a.MessageID] = a.Sequence
		}
	}
	lanes := h.lanes()
	for _, f := range h.all() {
		if !f.fate.leaves() || len(f.copies) > 0 || f.dead() {
			continue
		}
		if h.Limits.Drained.IsZero() && h.late(lanes, f) {
			continue // of which Liveness speaks
		}
		if sequence, ok := acked[MessageID(f.Name)]; ok {
			v.add("%s event %s of %q is lost, and the broker had acknowledged it at sequence %d", f.fate, f.ID, f.Key, sequence)
		} else {
			v.add("%s event %s of %q is lost, and was never acknowledged", f.fate, f.ID, f.Key)
		}
	}
	return v
}

// NoPhantom wants every message, also one that a rollback removed, to be an event that was
// committed, and not to be older than the beginning of its commit.
func NoPhantom(h *History) []Violation {
	var v verdict
	h.index()
	for _, m := range h.ever {
		f := h.facts[m.Name]
		switch {
		case m.Fault != "": // of which BytesEqual speaks
		case f == nil:
			v.add("message %d, event %s, was never staged", m.Sequence, m.ID)
		case f.fate == gone:
			v.add("message %d, event %s of %s, was never committed", m.Sequence, m.ID, f.stage.Actor)
		case m.At.Before(f.stage.Begin.Add(-h.Limits.Skew)):
			v.add("message %d, event %s, was stored %s before its commit began", m.Sequence, m.ID, f.stage.Begin.Sub(m.At))
		}
	}
	return v
}
