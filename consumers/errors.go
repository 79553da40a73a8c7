package consumers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// Sentinels of this package, for errors.Is.
var (
	// ErrPaused: the group is paused, and nothing was written.
	ErrPaused = errors.New("the group is paused")
	// ErrNoFact: the handler claimed no fact and did not call facts.None.
	ErrNoFact = errors.New("the handler claimed no fact, and did not say with facts.None that there is none")
	// ErrSwallowed: the handler went on after the database had refused a statement, such as a unique
	// violation. Nothing of the transaction can be committed.
	ErrSwallowed = errors.New("the handler swallowed an error of the database")
	// ErrUnread: the handler returned while it still reads rows.
	ErrUnread = errors.New("the handler returned with rows open: read them to the end, or close them")
	// ErrUnknownCommit: the connection was lost during the commit, or during what travels with it. The next delivery
	// finds out.
	ErrUnknownCommit = errors.New("whether the transaction was committed is not known")
)

// permanent is an error of an event that no repetition mends.
type permanent struct{ error }

func (e permanent) Unwrap() error { return e.error }

// Permanent says that handling the event again cannot help: it becomes a dead letter at once. nil
// stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// unavailable is an error that is not the event's.
type unavailable struct{ error }

func (e unavailable) Unwrap() error { return e.error }

// Unavailable says that something the handler depends on is away: the event comes again later,
// and no attempt is counted, however long it takes. nil stays nil.
func Unavailable(err error) error {
	if err == nil {
		return nil
	}
	return unavailable{err}
}

// PanicError is a panic of the handler. It counts as an attempt.
type PanicError struct {
	Value any
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("the handler panicked: %v", e.Value) }

// ProofError says that a claimed fact has not exactly one effect that says the same. Nothing
// was acknowledged.
type ProofError struct {
	FactID   int64
	FactType string
	Found    Evidence
	Reason   string
}

func (e *ProofError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("prove fact of type %s: %s", e.FactType, e.Reason)
	}
	return fmt.Sprintf("prove fact %d of type %s: it has %d effects, %d of them with its account and attributes", e.FactID, e.FactType, e.Found.Effects, e.Found.Matching)
}

// Hint says what a person can do.
func (e *ProofError) Hint() string {
	return "the effect must name the fact in its foreign key and be written in the handler's transaction; a fact that lost its effect needs a repair"
}

// Class says what an error of handling means for the event.
type Class string

// The classes. Only Failed and PermanentlyFailed say something about the event.
const (
	PermanentlyFailed Class = "permanent"   // a dead letter at once
	Failed            Class = "failed"      // counted; a dead letter when its attempts are used up
	Outage            Class = "outage"      // something is away, or the outcome is unknown: later, not counted
	Again             Class = "again"       // 40001 or 40P01: the transaction is run again
	Held              Class = "paused"      // the group is paused: later, not counted
	Quarantine        Class = "quarantined" // strict: told in another way, and not resolved yet: later, not counted
)

// errInQuarantine keeps a message on the stream in strict mode.
var errInQuarantine = errors.New("the event tells a known fact in another way, and nobody has resolved its quarantine")

// Classify returns the class of an error of [Applier.Apply] or of a handler, by type and SQLSTATE
// and never by text. nil has none.
func Classify(err error) Class {
	var pg *pgconn.PgError
	var key *facts.KeyError
	var fact *facts.FactError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrPaused):
		return Held
	case errors.Is(err, errInQuarantine):
		return Quarantine
	case errors.As(err, new(unavailable)), errors.Is(err, ErrUnknownCommit):
		return Outage
	case errors.As(err, new(permanent)), errors.As(err, &key), errors.As(err, &fact):
		return PermanentlyFailed
	case errors.As(err, &pg):
		return classifyState(pg.Code)
	case errors.Is(err, facts.ErrVanished):
		return Again
	case disconnected(err):
		return Outage
	}
	return Failed
}

// classifyState judges what the database says. What is not installed and who may not do it is
// nothing that an event could be blamed for.
func classifyState(code string) Class {
	switch code {
	case "40001", "40P01":
		return Again
	case "25006", "42501", "42P01", "42703", "42883", "3F000", "3D000", "55P03", "26000", "42P05", "0A000", "40003":
		return Outage
	}
	switch code[:min(2, len(code))] {
	case "08", "28", "53", "57", "58", "XX", "F0":
		return Outage
	}
	return Failed
}

// disconnected reports whether a connection is at fault.
func disconnected(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	return errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)
}

// sqlState returns the code of a database error, or "".
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// kindOf names an error in a log without saying what is in it.
func kindOf(err error) string {
	if state := sqlState(err); state != "" {
		return "sqlstate " + state
	}
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return "the transaction had failed"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
}
