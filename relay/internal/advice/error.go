package advice

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/outbox"
)

type hinted struct {
	error
	hint string
}

// Hint says what a person can do.
func (e *hinted) Hint() string  { return e.hint }
func (e *hinted) Unwrap() error { return e.error }

// Add gives an error a hint, unless it has one, or there is none to give.
func Add(err error, hint string) error {
	if err == nil || hint == "" || outbox.Hint(err) != "" {
		return err
	}
	return &hinted{err, hint}
}

// AddByState gives an error of the database the hint of its SQLSTATE, unless it has one.
func AddByState(err error, hints map[string]string) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	return Add(err, hints[pg.Code])
}
