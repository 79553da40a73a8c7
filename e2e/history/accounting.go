package history

// Accounting wants the settled batches to count each settled event once, and no relay to count
// more events than it got acknowledgements.
func Accounting(h *History) []Violation {
	var v verdict
	lanes := h.lanes()
	var settled int64
	for _, f := range h.all() {
		if f.row == nil {
			continue
		}
		if _, ok := passed(lanes[f.row.Lane], f.row); ok {
			settled++
		}
	}
	if settled != h.Settled {
		v.add("the cursors have passed %d events, and the settled batches count %d", settled, h.Settled)
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
