package history

import (
	"sort"
	"time"
)

// SettledImpliesPresent wants every event that a cursor passed to have been stored in the stream
// before the cursor passed it; or, if it was refused and waited, before it waited no longer.
// Whether a rollback removed it afterwards is a matter of NoLoss.
func SettledImpliesPresent(h *History) []Violation {
	var v verdict
	lanes := h.lanes()
	for _, f := range h.all() {
		if f.row == nil || !f.fate.leaves() {
			continue
		}
		at, settled := passed(lanes[f.row.Lane], f.row)
		if last, waited := f.waited(); waited {
			at, settled = last.At, last.Kind == Leaves
		}
		switch {
		case !settled:
		case len(f.ever) == 0:
			v.add("event %s was settled at %s and is not in the stream", f.ID, clock(at))
		case h.ever[f.ever[0]].At.After(at.Add(h.Limits.Skew)):
			v.add("event %s was settled at %s, %s before it was stored", f.ID, clock(at), h.ever[f.ever[0]].At.Sub(at))
		}
	}
	return v
}

// lanes sorts the moves by lane.
func (h *History) lanes() map[int][]Move {
	lanes := map[int][]Move{}
	for _, m := range h.Moves {
		lanes[m.Number] = append(lanes[m.Number], m)
	}
	return lanes
}

// passed returns when a cursor passed a row. A cursor does not go back: see CursorForward.
func passed(moves []Move, r *Row) (at time.Time, ok bool) {
	i := sort.Search(len(moves), func(i int) bool { return moves[i].After.Settled(r.Tx, r.Position) })
	if i == len(moves) {
		return time.Time{}, false
	}
	return moves[i].At, true
}

// CursorForward wants the cursor of a lane never to go back.
func CursorForward(h *History) []Violation {
	var v verdict
	for _, m := range h.Moves {
		if reason := back(m.Before, m.After); reason != "" {
			v.add("lane %d at %s, by %s: %s", m.Number, clock(m.At), m.Session, reason)
		}
	}
	for number, moves := range h.lanes() {
		for i := 1; i < len(moves); i++ {
			if moves[i-1].After.moved(moves[i].Before) {
				v.add("lane %d at %s: the record has a gap: %s became %s", number, clock(moves[i].At), moves[i-1].After.Drained, moves[i].Before.Drained)
			}
		}
	}
	return v
}

// back says how far a cursor went back; "" if it did not.
func back(before, after Lane) string {
	switch {
	case !after.Drained.Includes(before.Drained):
		return "drained went back from " + before.Drained.String() + " to " + after.Drained.String()
	case before.Target == nil || after.Drained.Includes(*before.Target):
		return ""
	case after.Target == nil || !after.Target.Equal(*before.Target):
		return "the paging up to " + before.Target.String() + " was given up"
	case after.Position < before.Position:
		return "the position went back"
	default:
		return ""
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000000") }
