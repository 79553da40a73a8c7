package history

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Outcome is what somebody who tried something knows of it.
type Outcome string

// The outcomes.
const (
	OK      Outcome = "ok"      // it happened
	Failed  Outcome = "failed"  // it did not happen
	Unknown Outcome = "unknown" // the answer was lost: it may have happened
)

// Name identifies an event.
type Name struct{ Source, ID string }

// Event is what is known of an event on both sides of the relay.
type Event struct {
	Name
	Type    string
	Key     string // the ordering key; "" is none
	Version int    // counts the events of a key; they need not be without a gap
	Digest  Digest // of the payload
}

// Digest is the SHA-256 of a payload.
type Digest [sha256.Size]byte

// MarshalText is the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// Generation is what events are held under.
type Generation struct {
	Operation string
	Number    int
}

// Stage is a transaction that staged events.
type Stage struct {
	Actor   string
	Begin   time.Time // before its COMMIT was sent
	Outcome Outcome
	Held    Generation // zero for events that are not held
	Events  []Event
}

// Decision is a release or a drop of a generation.
type Decision struct {
	Actor   string
	Begin   time.Time // before it was sent
	Outcome Outcome
	Generation
	Release bool // else a drop
}

// Publication is a message that a broker was given.
type Publication struct {
	At        time.Time
	Relay     string
	MessageID string
}

// Ack is a broker's answer to a publication.
type Ack struct {
	At        time.Time
	Relay     string
	MessageID string
	Sequence  uint64
	Upto      uint64 // in place of Sequence when a batch was acknowledged as a whole: of its last message
	Duplicate bool
	Code      int  // of an error; 0 for an acknowledgement
	Delivered bool // the relay got it
	Forged    bool // a fault made it, and the broker did not
}

// Lane is the state of a lane.
type Lane struct {
	Owner, Token string
	Until        time.Time // of the lease; zero without an owner
	Drained      Snapshot
	Target       *Snapshot // of a backlog that is paged
	Position     int64     // with Target
}

// Move is a change of a lane, in the order in which they were made.
type Move struct {
	Began, At     time.Time // of its statement, and of itself, by the clock of the database
	Session       string    // application name of whoever made it
	Number        int       // of the lane
	Before, After Lane
}

// Wait is a step of an event that the broker refused, or of one that waits behind it.
type Wait struct {
	At       time.Time // by the clock of the database
	Lane     int
	Position int64
	Kind     WaitKind
	Attempts int
}

// WaitKind is what happened to an event that waits.
type WaitKind string

// The steps.
const (
	Waits  WaitKind = "waits"  // it waits, or was tried again
	Leaves WaitKind = "leaves" // it waits no longer
	Dead   WaitKind = "dead"   // it was given up
)

// Row is an event in the outbox, at the end.
type Row struct {
	Name
	Lane     int
	Tx       uint64 // 0 while held
	Position int64
}

// Message is a message of the stream.
type Message struct {
	Event
	MessageID string
	Sequence  uint64
	At        time.Time // when the broker stored it, by its own clock
	Fault     string    // why it is no valid event; "" for one that is
}

// Rollback is a time at which the broker's store became an earlier one: what it had stored since is
// gone, although it was acknowledged.
type Rollback struct {
	At   time.Time // while the broker was down
	Lost []Message // what it removed, in the order of the stream
}

// Repairer is the name of whoever repairs, in publications and acknowledgements.
const Repairer = "reconcile"

// Read is what a consumer was given while the run was going on.
type Read struct {
	MessageID string
	Sequence  uint64
}

// Effect is a fact that consumers know, by the event that told it first, and what it led to.
type Effect struct {
	Name
	Rows   int    // of the table of effects
	Digest Digest // of the payload, as the effect has it
}

// Counter is what a relay says of itself at the end.
type Counter struct {
	Relay     string
	Published int64 // events that it says were acknowledged to it
}

// Span is a time during which something was broken.
type Span struct {
	From, To time.Time
	What     string
}
