package hold

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Filter chooses what [Store.List] shows. The zero value is everything.
type Filter struct {
	Operation uuid.UUID       // only generations of this operation
	State     GenerationState // only those in this state
	Overdue   bool            // only those that are undecided and expired
	// After is the last generation of the page before; zero for the first page.
	After outbox.Hold
	// Limit is how many at most, up to 1000. Defaults to 100.
	Limit int
}

// Listed is a generation in a list: ids, counts and ages.
type Listed struct {
	Hold outbox.Hold
	Generation

	Receipts    int64     // steps that were applied
	Quarantined int64     // entities that compensation left to a person
	Attempts    int       // turns of a keeper that decided nothing
	Compensated time.Time // when nothing was left to undo; zero before, and unless cancelled

	// By the database's clock: since the registration, and since the expiry of what is
	// undecided; 0 when that has not come.
	Age, Overdue time.Duration
}

// List shows one page of generations, by operation and generation. It locks nothing, so what
// is Active may be decided when the page arrives.
//
// Errors: [*outbox.InvalidArgumentError].
func (s *Store) List(ctx context.Context, db DB, f Filter) ([]Listed, error) {
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("list generations: %w", err)
	}
	rows, err := db.Query(ctx, s.list, optionalID(f.Operation), optional(string(f.State)), f.Overdue,
		optionalID(f.After.Operation), f.After.Generation, pageSize(f.Limit))
	if err != nil {
		return nil, fmt.Errorf("list generations: %w", call.Explain(err, f.After))
	}
	page, err := pgx.CollectRows(rows, scanListed)
	if err != nil {
		return nil, fmt.Errorf("list generations: %w", call.Explain(err, f.After))
	}
	return page, nil
}

func (f Filter) check() error {
	switch f.State {
	case "", Active, Released, Cancelled:
	default:
		return call.Invalid("only_state", "must be active, released or cancelled", "Leave it out for all states.")
	}
	if f.After.Operation != uuid.Nil {
		if err := call.CheckHold(f.After); err != nil {
			return err
		}
	}
	return checkPage(f.Limit)
}

func scanListed(row pgx.CollectableRow) (Listed, error) {
	var l Listed
	var operation string
	var decidedAt, expiresAt, compensatedAt *time.Time
	var decidedBy, reason *string
	var overdue *time.Duration
	g := &l.Generation
	err := row.Scan(&operation, &l.Hold.Generation, &g.State, &g.MaxGeneration, &g.Held, &g.Released, &g.Dropped,
		&g.Principal, &g.RegisteredAt, &decidedAt, &decidedBy, &reason, &expiresAt, &g.OnExpiry,
		&l.Receipts, &l.Quarantined, &l.Attempts, &compensatedAt, &l.Age, &overdue)
	if err != nil {
		return Listed{}, err
	}
	g.RegisteredAt = g.RegisteredAt.UTC()
	g.DecidedAt, g.ExpiresAt, l.Compensated = utc(decidedAt), utc(expiresAt), utc(compensatedAt)
	g.DecidedBy, g.Reason = text(decidedBy), text(reason)
	if overdue != nil {
		l.Overdue = *overdue
	}
	l.Hold.Operation, err = uuid.Parse(operation)
	return l, err
}

const defaultPage, largestPage = 100, 1000

func checkPage(limit int) error {
	if limit < 0 || limit > largestPage {
		return call.Invalid("most", "must be 0 to 1000", "Ask for the next page instead.")
	}
	return nil
}

func pageSize(limit int) int {
	if limit == 0 {
		return defaultPage
	}
	return limit
}

func optionalID(id uuid.UUID) *string {
	if id == uuid.Nil {
		return nil
	}
	return optional(id.String())
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// HeldEvent is an event that waits, without its payload.
type HeldEvent struct {
	Seq                              int64 // its place in the staging order
	ID, Source, Type                 string
	Subject, PartitionKey, MediaType string // empty for none
	Bytes                            int    // of the payload
	StagedAt                         time.Time
}

// Events shows one page of the events that wait under a generation, in staging order. after
// is the Seq of the last one of the page before, 0 for the first page; limit is how many at
// most, up to 1000, 0 for 100. A generation that is unknown or decided has none.
//
// Errors: [*outbox.InvalidArgumentError].
func (s *Store) Events(ctx context.Context, db DB, h outbox.Hold, after int64, limit int) ([]HeldEvent, error) {
	if err := call.CheckHold(h); err != nil {
		return nil, fmt.Errorf("list held events: %w", err)
	}
	if err := checkPage(limit); err != nil {
		return nil, fmt.Errorf("list held events: %w", err)
	}
	rows, err := db.Query(ctx, s.events, h.Operation.String(), h.Generation, max(after, 0), pageSize(limit))
	if err != nil {
		return nil, fmt.Errorf("list held events: %w", call.Explain(err, h))
	}
	page, err := pgx.CollectRows(rows, scanHeldEvent)
	if err != nil {
		return nil, fmt.Errorf("list held events: %w", call.Explain(err, h))
	}
	return page, nil
}

func scanHeldEvent(row pgx.CollectableRow) (HeldEvent, error) {
	var e HeldEvent
	var subject, key, media *string
	err := row.Scan(&e.Seq, &e.ID, &e.Source, &e.Type, &subject, &key, &media, &e.Bytes, &e.StagedAt)
	e.Subject, e.PartitionKey, e.MediaType, e.StagedAt = text(subject), text(key), text(media), e.StagedAt.UTC()
	return e, err
}
