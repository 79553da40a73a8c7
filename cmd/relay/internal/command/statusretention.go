package command

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// statusRetention is what the log keeps, in the output of relay status.
type statusRetention struct {
	KeepSeconds  float64       `json:"keep_seconds"`
	Events       int64         `json:"events_estimated"`
	DeadRows     int64         `json:"dead_rows_estimated"`
	Bytes        int64         `json:"bytes"`
	LastRotation string        `json:"last_rotation,omitempty"`
	LastSlot     *int16        `json:"last_slot,omitempty"`
	Blocked      []statusBlock `json:"blocked"`
}

// statusBlock is a slot that is old enough and not emptied.
type statusBlock struct {
	Slot           int16   `json:"slot"`
	Because        string  `json:"because"`
	Why            string  `json:"why"`
	OverdueSeconds float64 `json:"overdue_seconds"`
	Late           bool    `json:"late"`

	overdue string
}

// retain adds what the log keeps.
func (r *statusReport) retain(s *retention.State) {
	k := &statusRetention{KeepSeconds: output.Seconds(s.Keep), LastSlot: s.RotatedSlot, Blocked: []statusBlock{}}
	k.Events, k.Bytes, k.DeadRows = s.Totals()
	if s.RotatedAt != nil {
		k.LastRotation = output.Time(*s.RotatedAt)
	}
	late := map[int16]bool{}
	for _, slot := range s.Late() {
		late[slot.Slot] = true
	}
	for _, slot := range s.Slots {
		if overdue := s.Overdue(slot); overdue > 0 {
			k.Blocked = append(k.Blocked, statusBlock{slot.Slot, string(slot.Outcome), s.Reason(slot), output.Seconds(overdue), late[slot.Slot], output.Age(overdue)})
		}
	}
	r.Retention = k
}

// add says it to people, in one line.
func (k *statusRetention) add(totals *output.Table) {
	rotated := "no slot was emptied yet"
	if k.LastRotation != "" {
		rotated = fmt.Sprintf("slot %d was emptied at %s", *k.LastSlot, k.LastRotation)
	}
	totals.Add("retained", "~"+output.Number(k.Events), fmt.Sprintf("%s KiB; %s", output.Number(k.Bytes/1024), rotated))
}

// notes are the slots that have waited for long.
func (k *statusRetention) notes() (notes []string) {
	for _, b := range k.Blocked {
		if b.Late {
			notes = append(notes, fmt.Sprintf("Slot %d could have been emptied %s ago, and is %s: %s.", b.Slot, b.overdue, b.Because, b.Why))
		}
	}
	return notes
}
