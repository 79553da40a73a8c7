package outbox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// The SQLSTATEs that the outbox tells apart. Class HF is Holdfast's own.
const (
	stateInvalidEvent    = "HF001"
	stateInvalidArgument = "HF002"
	stateUnknown         = "HF010"
	stateCancelled       = "HF011"
	stateReleased        = "HF012"
	stateSuperseded      = "HF013"

	stateCheckViolation       = "23514"
	stateReadOnly             = "25006"
	stateAborted              = "25P02"
	stateUndefinedSchema      = "3F000"
	stateSerializationFailure = "40001"
	stateDeadlock             = "40P01"
	stateNotPermitted         = "42501"
	stateUndefinedFunction    = "42883"
	stateUndefinedTable       = "42P01"
)

// Retryable reports whether the whole transaction may succeed when it is rolled back and
// done again from its beginning: a serialization failure, such as a generation that was
// decided while a REPEATABLE READ transaction wanted to stage under it, or a deadlock. It
// looks at the SQLSTATE, of any driver.
func Retryable(err error) bool {
	switch sqlState(err) {
	case stateSerializationFailure, stateDeadlock:
		return true
	}
	return false
}

// stateError is an error of a Postgres driver: that of pgx, also below database/sql, and
// that of lib/pq have the method.
type stateError interface {
	error
	SQLState() string
}

func sqlState(err error) string {
	var e stateError
	if errors.As(err, &e) {
		return e.SQLState()
	}
	return ""
}

// report is what the database said beyond the code, as far as the driver tells.
type report struct{ message, detail, hint, constraint string }

func reportOf(err error) report {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return report{e.Message, e.Detail, e.Hint, e.ConstraintName}
	}
	// The error of lib/pq gives its fields by their letters in the wire protocol.
	var fields interface {
		error
		Get(k byte) string
	}
	if errors.As(err, &fields) {
		return report{fields.Get('M'), fields.Get('D'), fields.Get('H'), fields.Get('n')}
	}
	return report{}
}

// fault returns the field that the detail names and, for people, what the message says
// about it.
func (r report) fault(err error) (field, problem string) {
	field = strings.TrimPrefix(r.detail, "field=")
	if _, problem, found := strings.Cut(r.message, field+": "); found {
		return field, problem
	}
	return field, err.Error()
}

// maxGeneration is in the detail of a refusal.
func (r report) maxGeneration() int {
	_, number, _ := strings.Cut(r.detail, "max_generation=")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// explain gives an error of the database the type and the hint that it has here. The
// error of the driver stays in the tree.
func explain(err error, hold *Hold, events int) error {
	r := reportOf(err)
	switch state := sqlState(err); state {
	case stateInvalidEvent:
		field, problem := r.fault(err)
		return &InvalidEventError{Index: only(events), Field: field, Problem: problem, hint: r.hint, cause: err}
	case stateInvalidArgument:
		argument, problem := r.fault(err)
		return &InvalidArgumentError{Argument: argument, Problem: problem, hint: r.hint, cause: err}
	case stateUnknown, stateCancelled, stateReleased, stateSuperseded:
		return refused(err, state, r, hold)
	case stateCheckViolation:
		return violation(err, r, events)
	case stateUndefinedFunction, stateUndefinedSchema, stateUndefinedTable:
		return &hinted{err: fmt.Errorf("%w: %w", ErrSchemaMissing, err), hint: missingHint(hold)}
	case stateNotPermitted:
		return &hinted{err: err, hint: "Grant the role what it needs: `outbox-gen roles` prints it."}
	case stateReadOnly:
		return &hinted{err: err, hint: "The transaction is read-only, or the server is a standby. Begin a read-write transaction on the primary."}
	case stateAborted:
		return &hinted{err: err, hint: "An earlier statement of this transaction failed; see its error, and roll back."}
	}
	return err
}

func missingHint(hold *Hold) string {
	component := "outbox"
	if hold != nil {
		component = "outbox and hold"
	}
	return "Install the component " + component + " with the service's migrations (`outbox-gen write`), or gen.Install in a test; check Config.Schema."
}

func refused(err error, state string, r report, hold *Hold) error {
	e := &HoldRefusedError{MaxGeneration: r.maxGeneration(), cause: err}
	switch state {
	case stateUnknown:
		e.State = StateUnknown
	case stateCancelled:
		e.State = StateCancelled
	case stateReleased:
		e.State = StateReleased
	default:
		e.State = StateSuperseded
	}
	if hold != nil {
		e.Operation, e.Generation = hold.Operation, hold.Generation
	}
	return e
}

// violation names the field whose constraint the database saw broken. Only the limits
// of a schema that was rendered with other parameters can come to that; a constraint that
// is not ours, of a trigger for example, is left as it is.
func violation(err error, r report, events int) error {
	field, ours := strings.CutPrefix(r.constraint, "event_outbox_")
	if !ours {
		return err
	}
	switch field {
	case "event_id":
		field = "id"
	case "partition_key":
		field = "partitionkey"
	}
	hint := hints[field]
	if field == "data" {
		hint = "The schema was rendered with a smaller limit than Config.MaxEventBytes; make them the same."
	}
	return &InvalidEventError{Index: only(events), Field: field, Problem: "breaks the constraint " + r.constraint, hint: hint, cause: err}
}

// only is the index of the event at fault when there is but one.
func only(events int) int {
	if events == 1 {
		return 0
	}
	return -1
}
