package retention

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/relay/internal/advice"
)

// hints are what a person can do about an error of the database, by its SQLSTATE.
var hints = map[string]string{
	"42501": "grant the role its rights: outbox-gen roles writes the statements",
	"25006": "connect to the primary, for example with target_session_attrs=read-write",
	"42P01": notInstalled,
	"42883": notInstalled,
	"42703": notInstalled,
}

const notInstalled = "install the migrations of the component relay with the service's own migration tool"

// withHint adds the hint of a database error, unless it has one.
func withHint(err error) error { return advice.AddByState(err, hints) }

// lockTimeout reports whether a statement gave up waiting for a lock.
func lockTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}
