package saga

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// DB is what single statements need: a pool, a connection or a transaction of pgx.
type DB interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Beginner is what a claim needs: a pool or a connection, which opens a transaction.
type Beginner interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Config is where the operations of a service are, and their times. The zero value is useful.
type Config struct {
	// Schema is the database schema in which the component saga is installed, a plain
	// lower-case identifier of at most 50 bytes. Defaults to "outbox".
	Schema string
	// Settings are the times.
	Settings Settings
}

// Store reaches the operations in one database schema. It holds no connection and no state, and is
// safe for concurrent use.
type Store struct {
	schema     string
	settings   Settings
	statements map[string]string // by the name of their file
}

//go:embed sql/*.sql
var files embed.FS

// New returns a Store. It does not look into a database. Errors: [*ConfigError], and one for a schema
// that cannot be the name of one.
func New(config Config) (*Store, error) {
	schema, err := call.Schema(config.Schema)
	if err != nil {
		return nil, fmt.Errorf("configure sagas: %w", err)
	}
	if err := config.Settings.Validate(); err != nil {
		return nil, err
	}
	s := &Store{schema: schema, settings: config.Settings.WithDefaults(), statements: map[string]string{}}
	entries, err := files.ReadDir("sql")
	if err != nil {
		return nil, fmt.Errorf("configure sagas: %w", err)
	}
	for _, e := range entries {
		text, err := files.ReadFile("sql/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("configure sagas: %w", err)
		}
		s.statements[e.Name()] = call.Statement(schema, string(text))
	}
	return s, nil
}

// Settings returns the settings, with their defaults.
func (s *Store) Settings() Settings { return s.settings }

// changed runs a statement of a file and reports whether it changed a row.
func (s *Store) changed(ctx context.Context, db DB, file string, args ...any) (bool, error) {
	tag, err := db.Exec(ctx, s.statements[file], args...)
	if err != nil {
		return false, explain(err)
	}
	return tag.RowsAffected() > 0, nil
}

// query runs a statement of a file and collects its rows.
func query[T any](ctx context.Context, s *Store, db DB, file string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := db.Query(ctx, s.statements[file], args...)
	if err != nil {
		return nil, explain(err)
	}
	found, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, explain(err)
	}
	return found, nil
}

// explained is an error of the database with what a person can do about it.
type explained struct {
	error
	hint string
}

func (e *explained) Unwrap() error { return e.error }

// Hint is what outbox.Hint finds first.
func (e *explained) Hint() string { return e.hint }

func explain(err error) error {
	switch call.State(err) {
	case "42883", "3F000", "42P01": // no such function, schema, table
		return &explained{fmt.Errorf("%w: %w", outbox.ErrSchemaMissing, err),
			"Install the component saga with the service's migrations (`outbox-gen write`); check Config.Schema."}
	case "42501":
		return &explained{err, "Grant the role of the service what it needs: `outbox-gen roles` prints it."}
	case "HF002":
		return call.Explain(err, outbox.Hold{})
	}
	return err
}
