package retention

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/outbox"
)

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
		return &hinted{err, "grant the role its rights: outbox-gen roles writes the statements"}
	case "25006":
		return &hinted{err, "connect to the primary, for example with target_session_attrs=read-write"}
	case "42P01", "42883", "42703":
		return &hinted{err, "install the migrations of the component relay with the service's own migration tool"}
	}
	return err
}

// lockTimeout reports whether a statement gave up waiting for a lock.
func lockTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}
