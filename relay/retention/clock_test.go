package retention_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/relay/retention"
)

// What a clock that jumps leaves behind is events in a slot and under a date that are wrong. The
// tests write exactly that.

// TestAClockThatJumpedForward wrote events into a slot from ten years ahead. They are not emptied
// early, and not kept for ten years either: the next event says how old they are.
func TestAClockThatJumpedForward(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot, current := s.old(), query[int16](s, "SELECT "+now)
	s.fill(slot, 10, 3)
	s.fill(slot, 5, -3650)
	s.settle()
	s.keeps(slot, retention.Young)
	s.fill(current, 20, 0) // the clock is right again
	s.settle()
	s.keeps(slot, retention.Young)
	s.exec("UPDATE outbox.event_outbox SET staged_at = staged_at - interval '3 days' WHERE slot = $1", current)
	s.empties(slot)
}

// TestAClockThatJumpedBack wrote events of now into an old slot, under an old date. They are kept for
// as long as the events that were staged just before them.
func TestAClockThatJumpedBack(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot, current := s.old(), query[int16](s, "SELECT "+now)
	s.fill(slot, 10, 3)
	s.fill(current, 20, 0.1)
	s.fill(slot, 5, 3)
	s.settle()
	s.keeps(slot, retention.Young)
	s.exec("UPDATE outbox.event_outbox SET staged_at = staged_at - interval '2 days' WHERE slot = $1", current)
	s.empties(slot)
}

// TestReleasedEventsAreDatedByTheirRelease: they entered the log then, however long they were held.
func TestReleasedEventsAreDatedByTheirRelease(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	op := s.register()
	s.hold(op, 5)
	s.exec("UPDATE outbox.event_outbox SET staged_at = clock_timestamp() - interval '30 days'")
	s.exec("SELECT outbox.hold_release($1, 1, 'test')", op)
	s.exec("UPDATE outbox.event_outbox SET slot = $1", slot)
	s.settle()
	s.keeps(slot, retention.Young)
	s.exec("UPDATE outbox.hold_generation SET decided_at = decided_at - interval '3 days'")
	s.empties(slot)
}

// TestALeaseOfAClockThatJumped does not keep retention from its work for years.
func TestALeaseOfAClockThatJumped(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	s.fill(slot, 5, 3)
	s.settle()
	old := s.claim("pod-b", 10*365*24*hour)
	s.empties(slot)
	s.fill(slot, 5, 3)
	s.settle()
	if outcome, _ := s.rotate(old, slot); outcome != "lost" {
		t.Errorf("outcome %s under the old lease", outcome)
	}
}

// TestMaintenanceSwitchedOffForTwoCycles: every slot holds events of several cycles, and new ones go
// into slots that still hold old ones. When it is switched on again all that is old goes.
func TestMaintenanceSwitchedOffForTwoCycles(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	current := query[int16](s, "SELECT "+now)
	back := func(days int) int16 { return int16(((int(current)-days)%4 + 4) % 4) }
	for day := 11; day >= 0; day-- {
		s.fill(back(day), 10, float64(day)+0.5)
	}
	s.settle()
	// Of the slots that are not written to, one had its last events half a day ago, and one and a half.
	emptied := map[int16]bool{}
	eventually(t, "two slots are emptied", func() bool {
		for _, step := range s.pass().Emptied {
			if step.Slot == current || step.Slot == back(1) {
				t.Fatalf("emptied slot %d, whose newest events are young", step.Slot)
			}
			emptied[step.Slot] = true
		}
		return len(emptied) == 2
	})
	if young := query[int](s, "SELECT count(*) FROM outbox.event_outbox WHERE staged_at > clock_timestamp() - interval '2 days'"); young != 20 {
		t.Errorf("%d young events are left, want 20", young)
	}
	// A day later, so to speak: what was young is old, and the log has one cycle.
	s.exec("UPDATE outbox.event_outbox SET staged_at = staged_at - interval '2 days'")
	s.empties(back(1))
}
