package call

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/outbox"
)

// explained is an error of the database, the meaning that it has here, and what a person
// can do about it.
type explained struct {
	meaning error
	cause   error // nil when the database was not asked
	hint    string
}

func (e *explained) Error() string { return e.meaning.Error() }

// Hint is what outbox.Hint finds first.
func (e *explained) Hint() string { return e.hint }

func (e *explained) Unwrap() []error {
	if e.cause == nil {
		return []error{e.meaning}
	}
	return []error{e.meaning, e.cause}
}

// Because says what an error of the database means. The hint is the database's.
func Because(meaning, err error) error {
	return &explained{meaning: meaning, cause: err, hint: report(err).Hint}
}

// refusals are the states in which the gate refuses, by SQLSTATE.
var refusals = map[string]string{
	"HF010": outbox.StateUnknown,
	"HF011": outbox.StateCancelled,
	"HF012": outbox.StateReleased,
	"HF013": outbox.StateSuperseded,
}

// Explain gives an error of the database about a generation its type and its hint.
func Explain(err error, h outbox.Hold) error {
	r := report(err)
	if state, ok := refusals[r.Code]; ok {
		high, _ := strconv.Atoi(detail(r, "max_generation")) // absent is none
		return Because(&outbox.HoldRefusedError{
			Operation: h.Operation, Generation: h.Generation, State: state, MaxGeneration: high}, err)
	}
	switch r.Code {
	case "HF002":
		argument := detail(r, "field")
		return Because(&outbox.InvalidArgumentError{Argument: argument, Problem: strings.TrimPrefix(r.Message, argument+": ")}, err)
	case "42883", "3F000", "42P01": // no such function, schema, table
		return &explained{meaning: fmt.Errorf("%w: %w", outbox.ErrSchemaMissing, err),
			hint: "Install the components outbox and hold with the service's migrations (`outbox-gen write`); check Config.Schema."}
	case "42501":
		return &explained{meaning: err, hint: "Grant the role of the service what it needs: `outbox-gen roles` prints it."}
	case "25006":
		return &explained{meaning: err, hint: "The transaction is read-only, or the server is a standby. Use a read-write transaction on the primary."}
	}
	return err
}

// State returns SQLSTATE, or "" for an error that is not of the database.
func State(err error) string { return report(err).Code }

func report(err error) pgconn.PgError {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return *e
	}
	return pgconn.PgError{}
}

// detail returns the word that follows name= in the DETAIL of our errors.
func detail(r pgconn.PgError, name string) string {
	_, rest, _ := strings.Cut(r.Detail, name+"=")
	word, _, _ := strings.Cut(rest, " ")
	return word
}

// Unknown is the refusal of a generation that the database has no row of.
func Unknown(h outbox.Hold) error {
	return &outbox.HoldRefusedError{Operation: h.Operation, Generation: h.Generation, State: outbox.StateUnknown}
}
