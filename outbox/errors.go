package outbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Sentinels of this package, for errors.Is.
var (
	// ErrNotTransaction: publishing was asked to use a pool, a connection or nil.
	ErrNotTransaction = errors.New("not a transaction")
	// ErrSchemaMissing: the database has no Holdfast in this database schema, or not the
	// component that the call needs.
	ErrSchemaMissing = errors.New("schema not installed")
	// ErrSchemaMismatch: the database has another Holdfast than this build expects.
	ErrSchemaMismatch = errors.New("schema does not match this build")
	// ErrForeignCluster: the database was installed in another cluster than the one that
	// serves it now, so the transaction ids in it mean nothing.
	ErrForeignCluster = errors.New("database comes from another cluster")

	// ErrGenerationUnknown: the generation was never registered, or was pruned.
	ErrGenerationUnknown = errors.New("generation is unknown")
	// ErrGenerationCancelled: the generation was cancelled.
	ErrGenerationCancelled = errors.New("generation is cancelled")
	// ErrGenerationReleased: the generation was released and is sealed.
	ErrGenerationReleased = errors.New("generation is released")
	// ErrGenerationSuperseded: a later generation of the operation exists.
	ErrGenerationSuperseded = errors.New("generation is superseded")
)

// InvalidEventError is one fault of one event. The outbox refuses such an event with the
// same words in every language.
type InvalidEventError struct {
	Index   int    // which argument, from 0; -1 when the database found the fault in one of several
	ID      string // the event's id, empty when it has none or the database does not tell
	Field   string // an attribute, "data", "extensions", or one extension, such as "extension 'tenant'"
	Problem string // what is wrong with it, without its value

	hint  string
	cause error // what the database said, if it did
}

func (e *InvalidEventError) Error() string {
	var b strings.Builder
	b.WriteString("event")
	if e.Index >= 0 {
		fmt.Fprintf(&b, " %d", e.Index)
	}
	if e.ID != "" {
		fmt.Fprintf(&b, " (%q)", shorten(e.ID))
	}
	return b.String() + ": " + e.Field + ": " + e.Problem
}

// Hint says what a person can do.
func (e *InvalidEventError) Hint() string { return e.hint }

func (e *InvalidEventError) Unwrap() error { return e.cause }

// InvalidArgumentError is an argument, other than an event, that can't be meant.
type InvalidArgumentError struct {
	Argument string // its name in the SQL functions, such as "generation"
	Problem  string

	hint  string
	cause error
}

func (e *InvalidArgumentError) Error() string { return e.Argument + ": " + e.Problem }

// Hint says what a person can do.
func (e *InvalidArgumentError) Hint() string { return e.hint }

func (e *InvalidArgumentError) Unwrap() error { return e.cause }

// The states of HoldRefusedError, in the words of the database.
const (
	StateUnknown    = "unknown"
	StateCancelled  = "cancelled"
	StateReleased   = "released"
	StateSuperseded = "superseded"
)

// HoldRefusedError is the answer of the gate to a generation that may not be used. It
// matches, by errors.Is, the sentinel of its state: [ErrGenerationUnknown],
// [ErrGenerationCancelled], [ErrGenerationReleased] or [ErrGenerationSuperseded].
type HoldRefusedError struct {
	Operation     uuid.UUID
	Generation    int
	State         string // one of the State constants
	MaxGeneration int    // the highest generation known of the operation; 0 for none, or if the driver does not tell

	cause error
}

func (e *HoldRefusedError) Error() string {
	return fmt.Sprintf("operation %s generation %d is %s", e.Operation, e.Generation, e.State)
}

// Is reports whether target is the sentinel of the state.
func (e *HoldRefusedError) Is(target error) bool {
	switch e.State {
	case StateUnknown:
		return target == ErrGenerationUnknown
	case StateCancelled:
		return target == ErrGenerationCancelled
	case StateReleased:
		return target == ErrGenerationReleased
	case StateSuperseded:
		return target == ErrGenerationSuperseded
	}
	return false
}

func (e *HoldRefusedError) Unwrap() error { return e.cause }

// Hint says what a person can do.
func (e *HoldRefusedError) Hint() string {
	switch e.State {
	case StateUnknown:
		return "Register the generation first. One that was pruned, or is below the high-water mark, stays refused."
	case StateCancelled:
		return "The operation was undone. Stop, and start again under a new generation."
	case StateReleased:
		return "The operation is finished and sealed. Use a new operation."
	default:
		return "A later generation of this operation exists. Stop; only the latest generation may write."
	}
}

// hinted is an error with what a person can do about it.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }
func (e *hinted) Hint() string  { return e.hint }
func (e *hinted) Unwrap() error { return e.err }

// Hint returns what a person can do about an error of this module: the first hint in its
// tree, or "" when there is none.
func Hint(err error) string {
	if h, ok := err.(interface{ Hint() string }); ok && h.Hint() != "" {
		return h.Hint()
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return Hint(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, child := range e.Unwrap() {
			if hint := Hint(child); hint != "" {
				return hint
			}
		}
	}
	return ""
}
