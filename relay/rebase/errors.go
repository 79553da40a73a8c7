package rebase

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/outbox"
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

// hinted is an error of the database with what a person can do about it, for [outbox.Hint].
type hinted struct {
	error
	hint string
}

// Hint says what a person can do.
func (e *hinted) Hint() string  { return e.hint }
func (e *hinted) Unwrap() error { return e.error }

// withHint adds the hint of a database error, unless it has one.
func withHint(err error) error {
	var pg *pgconn.PgError
	if err == nil || outbox.Hint(err) != "" || !errors.As(err, &pg) {
		return err
	}
	switch pg.Code {
	case "42501":
		return &hinted{err, "run it as the owner of the schema: the relay's own role may not change events"}
	case "55P03":
		return &hinted{err, "a transaction holds the log: end it, or try again when it has ended"}
	case "25006":
		return &hinted{err, "connect to the primary, for example with target_session_attrs=read-write"}
	case "40001", "40P01":
		return &hinted{err, "somebody else changed the same rows: try again"}
	}
	return err
}
