package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Outcome is what became of a slot, or would.
type Outcome string

// What speaks against emptying a slot; Ready when nothing does.
const (
	Empty     Outcome = "empty"     // there is nothing in it
	Current   Outcome = "current"   // events go into it now
	Young     Outcome = "young"     // its newest event has not been kept for long enough
	Foreign   Outcome = "foreign"   // the cursors are of another cluster
	Lanes     Outcome = "lanes"     // a relay group lacks lanes
	Held      Outcome = "held"      // an event is held, and will be moved
	Undrained Outcome = "undrained" // a relay group has not settled an event
	Waiting   Outcome = "waiting"   // an event waits for its retry
	Ready     Outcome = "ready"     // it may be emptied
)

// What a step did.
const (
	Emptied Outcome = "emptied"
	Moved   Outcome = "moved" // held events were moved out of the way
	Busy    Outcome = "busy"  // the lock was not to be had
	Lost    Outcome = "lost"  // the lease is somebody else's
)

// Slot is a slot of the log.
type Slot struct {
	Slot    int16
	Outcome Outcome
	Why     string     // which operation, group, lane or event; "" where there is nothing to add
	Dated   *time.Time // when its newest event entered the log; nil for an empty slot
	Bytes   int64      // with indexes
	Events  int64      // as the statistics of the server have it
	Dead    int64      // rows that a vacuum has to remove; the same
}

// State is the log by slots, and what was done about them.
type State struct {
	Slots []Slot // the one that is emptied next comes first, the current one last
	Keep  time.Duration
	// Longest is the longest retention that a rotation keeps up with: all periods but two. With a
	// longer one, slots are written again before they may be emptied.
	Longest, Period time.Duration

	Owner       string     // who has the lease now; "" when nobody has
	RotatedAt   *time.Time // nil when no slot was ever emptied
	RotatedSlot *int16
	// The last time that a slot could not be emptied that looked as if it could; nil when a slot
	// was emptied since.
	RefusedAt   *time.Time
	RefusedSlot *int16
	RefusedWhy  string

	Now time.Time // by the clock of the database
}

// Querier is a pool or a connection of pgx.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Look reads the state. keep is how long events stay; 0 is what the schema says. It changes nothing,
// and its cost does not grow with the log.
func Look(ctx context.Context, db Querier, schema string, keep time.Duration) (*State, error) {
	sql := statements(schema)
	s := &State{}
	var slots, period int
	err := db.QueryRow(ctx, sql["maintenance"]).Scan(&s.Owner, &s.RotatedAt, &s.RotatedSlot, &s.RefusedAt, &s.RefusedSlot, &s.RefusedWhy,
		&s.Now, &slots, &period)
	if err != nil {
		return nil, withHint(fmt.Errorf("look at retention: %w", err))
	}
	s.Period = time.Duration(period) * time.Second
	s.Longest = time.Duration(slots-2) * s.Period
	if s.Keep = keep; keep == 0 {
		s.Keep = s.Longest
	}
	rows, err := db.Query(ctx, sql["look"], s.Keep)
	if err == nil {
		s.Slots, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Slot])
	}
	if err != nil {
		return nil, withHint(fmt.Errorf("look at the slots: %w", err))
	}
	return s, nil
}

// Totals sums up the slots.
func (s *State) Totals() (events, bytes, dead int64) {
	for _, slot := range s.Slots {
		events, bytes, dead = events+slot.Events, bytes+slot.Bytes, dead+slot.Dead
	}
	return events, bytes, dead
}

// Overdue returns for how long a slot has been old enough to be emptied; 0 when it is not.
func (s *State) Overdue(slot Slot) time.Duration {
	switch slot.Outcome {
	case Empty, Current, Young:
		return 0
	}
	return s.Now.Sub(slot.Dated.Add(s.Keep))
}

// Late returns the slots that have been overdue for so long that somebody should look. A pass
// comes every minute, so that is an hour, or half a period of a quick cycle.
func (s *State) Late() []Slot {
	bound := max(min(time.Hour, s.Period/2), 5*time.Minute)
	var late []Slot
	for _, slot := range s.Slots {
		if s.Overdue(slot) > bound {
			late = append(late, slot)
		}
	}
	return late
}

// Reason says in words why a slot is not emptied, from what is known of it and of the last attempt.
func (s *State) Reason(slot Slot) string {
	switch {
	case slot.Outcome != Ready:
		return slot.Why
	case s.RefusedSlot != nil && *s.RefusedSlot == slot.Slot && s.RefusedWhy != "":
		return s.RefusedWhy
	default:
		return "nothing speaks against it, and nobody does it"
	}
}

// actionable reports whether a pass could do something about a slot.
func (s *State) actionable() bool {
	for _, slot := range s.Slots {
		if slot.Outcome == Ready || slot.Outcome == Held {
			return true
		}
	}
	return false
}

// Count is what is in a slot, exactly.
type Count struct {
	Slot           int16
	Events, Held   int64
	Oldest, Newest time.Time // when they were staged
}

// CountSlots counts what is in the slots. It reads the whole log.
func CountSlots(ctx context.Context, db Querier, schema string) (map[int16]Count, error) {
	rows, err := db.Query(ctx, statements(schema)["count"])
	if err != nil {
		return nil, withHint(fmt.Errorf("count the slots: %w", err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Count])
	if err != nil {
		return nil, withHint(fmt.Errorf("count the slots: %w", err))
	}
	counts := map[int16]Count{}
	for _, c := range list {
		counts[c.Slot] = c
	}
	return counts, nil
}
