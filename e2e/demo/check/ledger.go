package check

import "github.com/holdfast-dev/holdfast/e2e/history"

// Fate is what must become of an event that was committed.
type Fate string

// The fates. An event that was staged without a hold, and one whose operation was
// released, must be in the stream. The others must not.
const (
	Free     Fate = "free"     // staged without a hold
	Released Fate = "released" // its operation was released
	Dropped  Fate = "dropped"  // its operation was cancelled
	Held     Fate = "held"     // its operation is undecided
)

// leaves says whether an event of this fate belongs into the stream.
func (f Fate) leaves() bool { return f == Free || f == Released }

// Event is what the ledger and the stream both know of an event. Its version counts the
// events of a key from 1.
type Event = history.Event

// Message is a message of the stream.
type Message = history.Message

// Entry is a line of the ledger: an event that a transaction committed.
type Entry struct {
	Event
	Fate Fate
}
