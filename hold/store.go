package hold

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// DB is what the calls of this package need: a pool, a connection or a transaction
// of pgx. In a transaction a call becomes part of it, and is undone with it. Otherwise
// the call is one statement, and so a transaction of its own.
type DB interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Config is where the holds of a service are. The zero value is useful.
type Config struct {
	// Schema is the database schema in which the component hold is installed, a plain
	// lower-case identifier of at most 50 bytes. Defaults to "outbox".
	Schema string
}

// Store reaches the holds in one database schema. It holds no connection and no state,
// and is safe for concurrent use. The functions of this package are the methods of a
// Store of the default schema.
type Store struct {
	register, release, cancel, state string // statements
}

var (
	//go:embed sql/register.sql
	registerSQL string
	//go:embed sql/release.sql
	releaseSQL string
	//go:embed sql/cancel.sql
	cancelSQL string
	//go:embed sql/state.sql
	stateSQL string
)

// New returns a Store. It fails when the schema cannot be the name of one; it does not
// look into a database.
func New(config Config) (*Store, error) {
	schema, err := call.Schema(config.Schema)
	if err != nil {
		return nil, fmt.Errorf("configure holds: %w", err)
	}
	return newStore(schema), nil
}

func newStore(schema string) *Store {
	return &Store{
		register: call.Statement(schema, registerSQL),
		release:  call.Statement(schema, releaseSQL),
		cancel:   call.Statement(schema, cancelSQL),
		state:    call.Statement(schema, stateSQL),
	}
}

// standard is the Store of the package functions. Never changed.
var standard = newStore("outbox")

// Register calls [Store.Register] in the default schema.
func Register(ctx context.Context, db DB, h outbox.Hold, by string, opts ...RegisterOption) (Answer, error) {
	return standard.Register(ctx, db, h, by, opts...)
}

// Release calls [Store.Release] in the default schema.
func Release(ctx context.Context, db DB, h outbox.Hold, by string, opts ...DecideOption) (Answer, error) {
	return standard.Release(ctx, db, h, by, opts...)
}

// Cancel calls [Store.Cancel] in the default schema.
func Cancel(ctx context.Context, db DB, h outbox.Hold, by string, opts ...DecideOption) (Answer, error) {
	return standard.Cancel(ctx, db, h, by, opts...)
}

// Drop calls [Store.Drop] in the default schema.
func Drop(ctx context.Context, db DB, h outbox.Hold, by string, opts ...DecideOption) (Answer, error) {
	return standard.Drop(ctx, db, h, by, opts...)
}

// State calls [Store.State] in the default schema.
func State(ctx context.Context, db DB, h outbox.Hold) (Generation, error) {
	return standard.State(ctx, db, h)
}
