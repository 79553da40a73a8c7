package history

import "time"

// HoldSafety wants no message of an event that is held or was dropped, and none of a released
// one from before the release was asked for.
func HoldSafety(h *History) []Violation {
	var v verdict
	h.index()
	asked := map[Generation]time.Time{}
	for _, d := range h.Decisions {
		if first, ok := asked[d.Generation]; d.Release && d.Outcome != Failed && (!ok || d.Begin.Before(first)) {
			asked[d.Generation] = d.Begin
		}
	}
	for _, m := range h.ever {
		f := h.facts[m.Name]
		if f == nil || m.Fault != "" {
			continue
		}
		switch f.fate {
		case held, dropped:
			v.add("message %d, event %s of operation %s, is %s", m.Sequence, m.ID, f.stage.Held.Operation, f.fate)
		case released:
			release, ok := asked[f.stage.Held]
			if !ok {
				v.add("message %d, event %s: the record has no release of operation %s", m.Sequence, m.ID, f.stage.Held.Operation)
			} else if m.At.Before(release.Add(-h.Limits.Skew)) {
				v.add("message %d, event %s of operation %s, was stored %s before its release", m.Sequence, m.ID, f.stage.Held.Operation, release.Sub(m.At))
			}
		}
	}
	return v
}
