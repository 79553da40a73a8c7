package history

// EffectsOnce wants every event that is in the stream and belongs there to have been made exactly one fact with
// exactly one effect that says what was staged, and nothing else to have any: not what was rolled
// back, is held or was dropped. It judges only a run that had consumers.
func EffectsOnce(h *History) []Violation {
	if !h.Consumed {
		return nil
	}
	var v verdict
	h.index()
	facts := map[Name]int{}
	for _, e := range h.Effects {
		facts[e.Name]++
		f := h.facts[e.Name]
		switch {
		case f == nil:
			v.add("a fact of event %s, which was never staged", e.ID)
		case !f.fate.leaves():
			v.add("a fact of event %s, which is %s", e.ID, f.fate)
		case e.Rows != 1:
			v.add("the fact of event %s has %d effects", e.ID, e.Rows)
		case e.Digest != f.Digest:
			v.add("the effect of event %s is that of another payload", e.ID)
		}
	}
	for _, f := range h.all() {
		if n := facts[f.Name]; n > 1 || n == 0 && f.fate.leaves() && len(f.copies) > 0 {
			v.add("event %s of %q is in the stream %d times, and is %d facts", f.ID, f.Key, len(f.copies), n)
		}
	}
	return v
}
