package hold

import "time"

// GenerationState is where a generation is in its life.
type GenerationState string

// The states. Released and Cancelled are terminal. A generation that has no row has no
// state: calls on it return outbox.ErrGenerationUnknown.
const (
	Active    GenerationState = "active"    // events wait; writes are welcome
	Released  GenerationState = "released"  // events are in the log; writes are refused
	Cancelled GenerationState = "cancelled" // events are gone; writes are refused
)

// Answer is what a generation is after a call. The counts are of events.
type Answer struct {
	State GenerationState
	// MaxGeneration is the highest generation that the operation ever had here.
	MaxGeneration int
	// Held is how many wait now; 0 once the generation is decided.
	Held int64
	// Released and Dropped are what the decision moved; 0 before it.
	Released, Dropped int64
	// Changed says that this very call made the transition. A repeated call, and the
	// loser of two equal calls, get the same answer with Changed false.
	Changed bool
}

// Generation is everything that is known about a generation. A time that is zero, or a
// text that is empty, is not known or not there yet. Times are the database's.
type Generation struct {
	Answer

	Principal    string // who registered it, or cancelled it before anyone did
	RegisteredAt time.Time
	DecidedAt    time.Time
	DecidedBy    string
	Reason       string    // of the decision
	ExpiresAt    time.Time // when it is overdue if undecided; zero is never
	OnExpiry     OnExpiry  // what happens then
}

// OnExpiry is what happens to a generation that is undecided when it expires. A
// release is never automatic.
type OnExpiry string

// The policies.
const (
	AlarmOnExpiry  OnExpiry = "alarm"  // people are told; nothing changes
	CancelOnExpiry OnExpiry = "cancel" // it is cancelled
)
