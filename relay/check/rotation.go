package check

import (
	"time"

	"github.com/holdfast-dev/holdfast/relay/retention"
)

// rotationHints say what a person can do about a slot that is not emptied.
var rotationHints = map[retention.Outcome]string{
	retention.Foreign:   "make the cursors those of this cluster: relay rebase",
	retention.Lanes:     "start a relay of that group, which makes its lanes; or delete the lanes of a group that nobody runs any more",
	retention.Undrained: "see why that group is behind: relay status --group; delete the lanes of a group that nobody runs any more",
	retention.Waiting:   "see why it waits: relay dead-letter list, and whether a dead letter blocks its key",
	retention.Held:      "somebody has been deciding about it for long: look for an open transaction of hold_release or hold_cancel",
	retention.Ready:     "see the log of the relays and RELAY_MAINTENANCE; relay prune does it by hand; a transaction that stays open keeps the lock",
}

// rotationFinding warns when a slot could have been emptied long ago.
func rotationFinding(f *facts) Finding {
	if err := f.db.refused["rotation"]; err != nil {
		return refusedFinding(err)
	}
	s := f.db.rotation
	if s == nil {
		return ok("there is no log yet")
	}
	if s.Keep > s.Longest {
		return warn("lower RELAY_RETENTION, or add slots or lengthen the period in the schema",
			"retention %s is longer than the %s that %s of %s keep up with: slots are written again before they may be emptied",
			s.Keep, s.Longest, plural(len(s.Slots), "slot"), s.Period)
	}
	if late := s.Late(); len(late) > 0 {
		slot := late[0]
		return warn(rotationHints[slot.Outcome], "slot %d could have been emptied %s ago and is %s: %s",
			slot.Slot, s.Overdue(slot).Round(time.Minute), slot.Outcome, s.Reason(slot))
	}
	return ok("old slots are emptied: events stay for %s at least", s.Keep)
}
