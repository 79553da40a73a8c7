package rebase

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/relay/internal/advice"
)

// ErrNothingToDo is returned by [Apply] for a database whose transaction ids are of the
// cluster that serves it.
var ErrNothingToDo = errors.New("the transaction ids are of this cluster: nothing to do")

// LiveLeaseError is returned by [Apply] while a relay may own lanes.
type LiveLeaseError struct{ Leases []Lease }

func (e *LiveLeaseError) Error() string {
	last := e.Leases[0]
	for _, l := range e.Leases {
		if l.Until.After(last.Until) {
			last = l
		}
	}
	return fmt.Sprintf("%d lanes have a live lease, the last of %s until %s",
		len(e.Leases), last.Owner, last.Until.UTC().Format(time.RFC3339))
}

// Hint says what a person can do.
func (e *LiveLeaseError) Hint() string {
	return "stop every relay of this database, or wait: a lease that was restored with the dump ends by itself"
}

// hints are what a person can do about an error of the database, by its SQLSTATE.
var hints = map[string]string{
	"42501": "run it as the owner of the schema: the relay's own role may not change events",
	"55P03": "a transaction holds the log: end it, or try again when it has ended",
	"25006": "connect to the primary, for example with target_session_attrs=read-write",
	"40001": changedMeanwhile,
	"40P01": changedMeanwhile,
}

const changedMeanwhile = "somebody else changed the same rows: try again"

// withHint adds the hint of a database error, unless it has one.
func withHint(err error) error { return advice.AddByState(err, hints) }
