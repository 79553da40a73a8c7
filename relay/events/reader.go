package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/relay/internal/null"
)

// ErrNoGroup: no relay has ever run with the group, so nothing is known of its events.
var ErrNoGroup = errors.New("there is no such relay group")

// ErrNotFound: neither the log nor a dead letter has the event.
var ErrNotFound = errors.New("neither the log nor a dead letter has the event")

// Reader reads the events of one database as one relay group sees them. Safe for concurrent use.
type Reader struct {
	pool  *pgxpool.Pool
	sql   map[string]string
	group string
}

// New returns a reader over a pool, which stays the caller's. It asks the database what this
// login may read. The error is [ErrNoGroup] for a group that does not exist.
func New(ctx context.Context, pool *pgxpool.Pool, schema, group string) (*Reader, error) {
	var logInView, deadInView, known bool
	err := pool.QueryRow(ctx, statements(schema, true, true)["rights"], group).Scan(&logInView, &deadInView, &known)
	if err != nil {
		return nil, fmt.Errorf("ask what this login may read: %w", err)
	}
	if !known {
		return nil, fmt.Errorf("group %s: %w", group, ErrNoGroup)
	}
	return &Reader{pool: pool, sql: statements(schema, logInView, deadInView), group: group}, nil
}

// State is what is known of an event for the relay group.
type State string

// The states, see the package.
const (
	Held      State = "held"
	Waiting   State = "waiting"
	Published State = "published"
	Dead      State = "dead"
	Discarded State = "discarded"
)

// States returns all states.
func States() []State { return []State{Waiting, Published, Held, Dead, Discarded} }

// Event is an event without its payload.
type Event struct {
	Lane        int16
	Seq         int64
	Slot        int16 // of the log; -1 when the log has forgotten the event
	ID          string
	Source      string     // "" when only the history remembers the event, as the other attributes
	Type        string     // the same
	Subject     string     // "" when the event has none
	Time        *time.Time // nil when the event has none
	ContentType string     // "" when the event has none
	DataSchema  string     // "" when the event has none
	Key         string     // "" for an event without order
	Extensions  map[string]any
	Bytes       int32      // of the payload
	Operation   string     // that holds the event, or held it once; "" for none
	Generation  int32      // of the operation; 0 for none
	StagedAt    *time.Time // nil when that is forgotten
	State       State
}

// InLog reports whether the log still has the event.
func (e *Event) InLog() bool { return e.Slot >= 0 }

// Filter chooses events of the log. Zero fields choose all.
type Filter struct {
	Type, Key    string
	State        State
	Since, Until time.Time // of staging: Since or later, and before Until
	// Limit bounds how many are chosen, newest first. Defaults to 50.
	Limit int
}

// List returns the newest events that a filter chooses, by their position in the log.
func (r *Reader) List(ctx context.Context, f Filter) ([]Event, error) {
	limit := f.Limit
	if limit == 0 {
		limit = 50
	}
	list, err := collect(ctx, r, "list", pgx.RowToStructByPos[Event],
		null.Text(f.Type), null.Text(f.Key), null.Time(f.Since), null.Time(f.Until), null.Text(string(f.State)), limit)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return list, nil
}

// Find returns every event with an id: those of the log, then those that the log has forgotten and a dead
// letter, a retry or the history of one remembers. There are several when sources share the id,
// or when it was staged more than once.
func (r *Reader) Find(ctx context.Context, id string) ([]Event, error) {
	list, err := collect(ctx, r, "find", pgx.RowToStructByPos[Event], id)
	if err != nil {
		return nil, fmt.Errorf("find event %s: %w", id, err)
	}
	gone, err := collect(ctx, r, "forgotten", pgx.RowToStructByPos[Event], id)
	if err != nil {
		return nil, fmt.Errorf("find event %s: %w", id, err)
	}
	return append(list, gone...), nil
}

// Data returns the payload of an event, which only a login with the rights of a relay may read. The
// error is [ErrNotFound] when nothing has it any more.
func (r *Reader) Data(ctx context.Context, e *Event) ([]byte, error) {
	var data []byte
	err := r.pool.QueryRow(ctx, r.sql["data"], r.group, e.Lane, e.Seq).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read the payload of event %s: %w", e.ID, err)
	}
	return data, nil
}

// collect runs a statement whose first argument is the group.
func collect[T any](ctx context.Context, r *Reader, statement string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := r.pool.Query(ctx, r.sql[statement], append([]any{r.group}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}
