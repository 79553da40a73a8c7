package history

// KeyOrder wants the events of a key in the order of their versions, where each was stored first,
// if only until a rollback. A second copy of an event is no violation: consumers drop it.
func KeyOrder(h *History) []Violation {
	var v verdict
	h.index()
	seen := map[Name]bool{}
	last := map[string]Message{}
	for _, m := range h.ever {
		f := h.facts[m.Name]
		if f == nil || m.Fault != "" || f.Key == "" || seen[m.Name] {
			continue
		}
		seen[m.Name] = true
		before, any := last[f.Key]
		if any && f.Version <= before.Version {
			v.add("key %s: version %d at sequence %d comes after version %d at %d", f.Key, f.Version, m.Sequence, before.Version, before.Sequence)
			continue
		}
		m.Version = f.Version // as it was staged, whatever the message says
		last[f.Key] = m.Message
	}
	return v
}

// BytesEqual wants every message to be a valid event, and to say what was staged.
func BytesEqual(h *History) []Violation {
	var v verdict
	h.index()
	for _, m := range h.ever {
		f := h.facts[m.Name]
		switch {
		case m.Fault != "":
			v.add("message %d %s", m.Sequence, m.Fault)
		case f == nil: // of which NoPhantom speaks
		case m.MessageID != MessageID(m.Name):
			v.add("message %d, event %s, has the foreign message id %q", m.Sequence, m.ID, m.MessageID)
		case m.Digest != f.Digest:
			v.add("message %d, event %s, has other bytes than were staged", m.Sequence, m.ID)
		case m.Event != f.Event:
			v.add("message %d is %v, staged was %v", m.Sequence, m.Event, f.Event)
		}
	}
	return v
}
