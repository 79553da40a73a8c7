package wire

import (
	"time"

	"github.com/google/uuid"
)

// JSONType and ProblemContentType are the media types of bodies.
const (
	JSONType           = "application/json"
	ProblemContentType = "application/problem+json"
)

// RegisterRequest is the optional body of a register.
type RegisterRequest struct {
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // when it is overdue if undecided; never without it
	OnExpiry  string     `json:"on_expiry,omitempty"`  // alarm or cancel; needs expires_at
}

// DecideRequest is the optional body of a release and of a cancel.
type DecideRequest struct {
	Reason string `json:"reason,omitempty"` // for the audit, 1024 bytes at most
}

// Answer is what a generation is after a call. The counts are of events.
type Answer struct {
	Operation     uuid.UUID `json:"operation"`
	Generation    int       `json:"generation"`
	State         string    `json:"state"` // active, released or cancelled
	MaxGeneration int       `json:"max_generation"`
	Held          int64     `json:"held"`
	Released      int64     `json:"released"`
	Dropped       int64     `json:"dropped"`
	Changed       bool      `json:"changed"` // this very call made the transition
}

// CancelAnswer is the answer to a cancel.
type CancelAnswer struct {
	Answer
	Undone      int64    `json:"undone"`      // entities that this service has undone; 0 if it undoes them elsewhere
	Quarantined []Entity `json:"quarantined"` // entities that were left to a person
}

// Entity names an entity that a step made.
type Entity struct {
	Step string `json:"step"`
	Kind string `json:"entity_kind"`
	ID   string `json:"stable_id"`
}

// Operation is one page of an operation's generations, in their order.
type Operation struct {
	Operation   uuid.UUID    `json:"operation"`
	Generations []Generation `json:"generations"`
	NextAfter   int          `json:"next_after,omitempty"` // the after of the next page, if there may be one
}

// Generation is what is known of a generation: counts and times, those of the database.
type Generation struct {
	Generation    int        `json:"generation"`
	State         string     `json:"state"`
	MaxGeneration int        `json:"max_generation"`
	Held          int64      `json:"held"`
	Released      int64      `json:"released"`
	Dropped       int64      `json:"dropped"`
	Receipts      int64      `json:"receipts"`
	Quarantined   int64      `json:"quarantined"`
	RegisteredAt  time.Time  `json:"registered_at"`
	DecidedAt     *time.Time `json:"decided_at,omitempty"`
	CompensatedAt *time.Time `json:"compensated_at,omitempty"` // nothing is left to undo
	ExpiresAt     *time.Time `json:"expires_at,omitempty"`
	OnExpiry      string     `json:"on_expiry"`
	Age           float64    `json:"age_seconds"`     // since the registration
	Overdue       float64    `json:"overdue_seconds"` // since the expiry of what is undecided, or 0
}
