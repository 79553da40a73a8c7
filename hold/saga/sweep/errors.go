package sweep

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Sentinels of this package, for errors.Is.
var (
	// ErrSeal: the manifest is not what was sealed, or not the one that was reviewed.
	ErrSeal = errors.New("manifest is not the one that was sealed")
	// ErrForeign: the manifest is of another database.
	ErrForeign = errors.New("manifest is of another database")
	// ErrChanged: the service's statements are not those of the manifest.
	ErrChanged = errors.New("statements are not those of the manifest")
	// ErrRole: the login may not act, because it is more than an operator.
	ErrRole = errors.New("login is more than an operator")
	// ErrResults: the results file is of another manifest, or cannot be read.
	ErrResults = errors.New("results file cannot be used")
	// ErrBusy: another run has the results file, or a transaction that an earlier one left behind has
	// not ended.
	ErrBusy = errors.New("another run has not ended")
	// ErrUnanswered: a commit had no answer, and the database did not say in time what became of it. The
	// candidate is Unknown, and the next run asks again.
	ErrUnanswered = errors.New("nobody knows yet what became of a commit")
	// ErrCandidates: the candidate query returned what cannot be used.
	ErrCandidates = errors.New("candidate query returned what cannot be used")
	// ErrStillCandidate: after the undo the query still finds the candidate. The undo was rolled back.
	ErrStillCandidate = errors.New("undone, and still a candidate")
)

// refusal is a sentinel with the case and what a person can do.
type refusal struct {
	kind  error
	about string
	hint  string
	cause error // nil when there is none
}

func refuse(kind error, hint, format string, args ...any) error {
	return &refusal{kind: kind, about: fmt.Sprintf(format, args...), hint: hint}
}

// unanswered says of which commit nobody knows.
func unanswered(r Result, cause error) error {
	return &refusal{kind: ErrUnanswered, about: fmt.Sprintf("candidate %s, transaction %s", r.ID, r.Transaction), cause: cause,
		hint: "Run it again with the same results file when the database answers: it asks before it acts."}
}

func (e *refusal) Error() string { return e.kind.Error() + ": " + e.about }

// Hint is what outbox.Hint finds.
func (e *refusal) Hint() string { return e.hint }

func (e *refusal) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// explain gives an error of the database that concerns every candidate its hint. A message of the
// service's own statements may quote a value, so no more than the SQLSTATE of it is told.
func explain(err error) error {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return err
	}
	switch server.Code {
	case "42501":
		return &told{server, "Grant the login the role operator (`outbox-gen roles`), and what the service's statements need."}
	case "42P01", "42703", "42883", "3F000", "42601", "42P02", "42P18", "42804", "42846":
		return &told{server, "Check the service's statements in psql, and that the component hold is installed: `outbox-gen verify`."}
	}
	return &told{server, outbox.Hint(call.Explain(err, outbox.Hold{}))}
}

// told is an error of the database without its text.
type told struct {
	*pgconn.PgError
	hint string
}

func (e *told) Error() string { return "SQLSTATE " + e.Code }

// Unwrap keeps the SQLSTATE in the tree.
func (e *told) Unwrap() error { return e.PgError }

// Hint is what outbox.Hint finds.
func (e *told) Hint() string { return e.hint }

// code is all that may be told of a failure.
func code(err error) string {
	if state := call.State(err); state != "" {
		return "sqlstate-" + state
	}
	if errors.Is(err, ErrStillCandidate) {
		return "still-a-candidate"
	}
	return "error"
}

// ends reports whether an error of one candidate would be that of each.
func ends(err error) bool {
	var connect *pgconn.ConnectError
	state := call.State(err)
	if errors.As(err, &connect) || len(state) != 5 || state == "57014" { // a limit that the login has for a statement
		return errors.As(err, &connect)
	}
	switch state[:2] {
	case "08", "25", "28", "3D", "3F", "42", "53", "57", "58", "XX":
		return true
	}
	return false
}
