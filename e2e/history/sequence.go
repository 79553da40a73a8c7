package history

// StreamSequence wants the stream to begin at 1 and to have no gap, its times not to go back,
// and every acknowledgement and every read to name the sequence at which the stream has
// the message, or had it until a rollback. An acknowledgement of a duplicate names an earlier copy, or
// none. What a rollback removed must have come after what it left.
func StreamSequence(h *History) []Violation {
	var v verdict
	h.index()
	ids := map[uint64]string{}
	for i, m := range h.Stream {
		ids[m.Sequence] = m.MessageID
		if want := uint64(i + 1); m.Sequence != want {
			v.add("message %d of the stream has sequence %d", want, m.Sequence)
		}
	}
	had, first := map[spot]bool{}, map[string]uint64{} // first is the lowest sequence of an id
	for i, m := range h.ever {
		had[m.spot()] = true
		if n, ok := first[m.MessageID]; !ok || m.Sequence < n {
			first[m.MessageID] = m.Sequence
		}
		if i > 0 && m.At.Before(h.ever[i-1].At.Add(-h.Limits.Skew)) {
			v.add("message %d is %s older than the one before it", m.Sequence, h.ever[i-1].At.Sub(m.At))
		}
	}
	for _, a := range h.Acks {
		if a.Code != 0 || a.Forged || a.Duplicate && a.Sequence == 0 || had[spot{a.Sequence, a.MessageID}] {
			continue
		}
		if a.Upto != 0 {
			if n, ok := first[a.MessageID]; !ok || n > a.Upto {
				v.add("%s was told that a batch is stored up to sequence %d, and %s of it is not", a.Relay, a.Upto, a.MessageID)
			}
			continue
		}
		if id, ok := ids[a.Sequence]; !ok {
			v.add("%s was told of sequence %d for %s, which the stream does not have", a.Relay, a.Sequence, a.MessageID)
		} else {
			v.add("%s was told of sequence %d for %s, where the stream has %s", a.Relay, a.Sequence, a.MessageID, id)
		}
	}
	for _, r := range h.Reads {
		if !had[spot{r.Sequence, r.MessageID}] {
			v.add("a consumer read %s at sequence %d, where the stream has %q", r.MessageID, r.Sequence, ids[r.Sequence])
		}
	}
	return v
}
