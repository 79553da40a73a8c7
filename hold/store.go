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
	list, events, dropEvent          string
	overdue, compensationDue, putOff string
	receipts, quarantined            string
	prune, measure                   string
	eventHistory                     string

	compensationBegin, compensationEnd, compensationFinish string
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
	//go:embed sql/list.sql
	listSQL string
	//go:embed sql/events.sql
	eventsSQL string
	//go:embed sql/drop_event.sql
	dropEventSQL string
	//go:embed sql/overdue.sql
	overdueSQL string
	//go:embed sql/compensation_due.sql
	compensationDueSQL string
	//go:embed sql/put_off.sql
	putOffSQL string
	//go:embed sql/compensation_receipts.sql
	receiptsSQL string
	//go:embed sql/compensation_begin.sql
	compensationBeginSQL string
	//go:embed sql/compensation_end.sql
	compensationEndSQL string
	//go:embed sql/compensation_finish.sql
	compensationFinishSQL string
	//go:embed sql/compensation_quarantined.sql
	quarantinedSQL string
	//go:embed sql/prune.sql
	pruneSQL string
	//go:embed sql/event_history.sql
	eventHistorySQL string
	//go:embed sql/measure.sql
	measureSQL string
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

		list:      call.Statement(schema, listSQL),
		events:    call.Statement(schema, eventsSQL),
		dropEvent: call.Statement(schema, dropEventSQL),

		eventHistory: call.Statement(schema, eventHistorySQL),

		overdue:         call.Statement(schema, overdueSQL),
		compensationDue: call.Statement(schema, compensationDueSQL),
		putOff:          call.Statement(schema, putOffSQL),

		receipts:           call.Statement(schema, receiptsSQL),
		quarantined:        call.Statement(schema, quarantinedSQL),
		compensationBegin:  call.Statement(schema, compensationBeginSQL),
		compensationEnd:    call.Statement(schema, compensationEndSQL),
		compensationFinish: call.Statement(schema, compensationFinishSQL),

		prune:   call.Statement(schema, pruneSQL),
		measure: call.Statement(schema, measureSQL),
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

// List calls [Store.List] in the default schema.
func List(ctx context.Context, db DB, f Filter) ([]Listed, error) { return standard.List(ctx, db, f) }

// Events calls [Store.Events] in the default schema.
func Events(ctx context.Context, db DB, h outbox.Hold, after int64, limit int) ([]HeldEvent, error) {
	return standard.Events(ctx, db, h, after, limit)
}

// DropEvent calls [Store.DropEvent] in the default schema.
func DropEvent(ctx context.Context, db DB, h outbox.Hold, event EventName, by, reason string) (int64, error) {
	return standard.DropEvent(ctx, db, h, event, by, reason)
}

// Compensate calls [Store.Compensate] in the default schema.
func Compensate(ctx context.Context, db Beginner, h outbox.Hold, by string, undo Compensator) (Compensation, error) {
	return standard.Compensate(ctx, db, h, by, undo)
}

// State calls [Store.State] in the default schema.
func State(ctx context.Context, db DB, h outbox.Hold) (Generation, error) {
	return standard.State(ctx, db, h)
}
