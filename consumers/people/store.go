package people

import (
	"context"
	"embed"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/internal/statement"
)

//go:embed sql/*.sql
var files embed.FS

// DB is a pool or a connection.
type DB interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Store reads and decides in one database. Safe for concurrent use if the DB is.
type Store struct {
	db  DB
	sql map[string]string
}

// InvalidError is about an argument that cannot be meant. Nothing was asked of the database.
type InvalidError struct{ Field, Reason string }

func (e *InvalidError) Error() string { return e.Field + " " + e.Reason }

// New makes a store over the schema of the component consumer, "outbox" when it is empty. Errors:
// [*InvalidError].
func New(db DB, schema string) (*Store, error) {
	if schema == "" {
		schema = "outbox"
	}
	if !statement.ValidSchema(schema) {
		return nil, &InvalidError{"schema", "must be a plain lower-case identifier"}
	}
	return &Store{db: db, sql: statement.Read(files, schema)}, nil
}

// said judges who does something and why; both are kept.
func said(actor, reason string) error {
	for _, f := range []struct {
		name, text string
		limit      int
	}{{"actor", actor, 255}, {"reason", reason, 1000}} {
		if f.text == "" || len(f.text) > f.limit || !utf8.ValidString(f.text) {
			return &InvalidError{f.name, fmt.Sprintf("must be 1 to %d bytes of UTF-8 text", f.limit)}
		}
	}
	return nil
}

// orNull makes NULL of a time that was not given.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
