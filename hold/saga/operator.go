package saga

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Filter chooses operations. The zero value chooses all.
type Filter struct {
	Operation  uuid.UUID
	States     []State
	Unreleased bool   // only those that are completed and not released
	Kind       string // "" for all
	Limit      int    // defaults to 1000
}

// Operation is what people may know of an operation: neither the basis nor the result.
type Operation struct {
	ID             uuid.UUID
	Generation     int
	Kind           string
	State          State
	EventsReleased bool
	Participants   []string
	Attempts       int // of the reconciler, that failed
	CreatedAt      time.Time
	UpdatedAt      time.Time // of the last change of state
	NextAttemptAt  time.Time // of the reconciler
	LeaseExpiresAt *time.Time
	LeaseLive      bool
	DigestKeyID    string
}

// Act is what somebody did to an operation, who is not its client.
type Act struct {
	At            time.Time
	Generation    int
	Action        string // compensate, abort, give_up, retry or order_abort
	Actor, Reason string
	Before, After State
}

// List returns operations, those whose state is oldest first. It needs the rights of an operator or
// an auditor.
func (s *Store) List(ctx context.Context, db DB, f Filter) ([]Operation, error) {
	states := make([]string, len(f.States))
	for i, state := range f.States {
		states[i] = string(state)
	}
	if f.Limit == 0 {
		f.Limit = 1000
	}
	var id *uuid.UUID
	if f.Operation != uuid.Nil {
		id = &f.Operation
	}
	found, err := query(ctx, s, db, "list.sql", pgx.RowToStructByPos[Operation], id, states, f.Unreleased, f.Kind, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("list operations: %w", err)
	}
	return found, nil
}

// Show returns one operation, its steps and what was done to it. Errors: [ErrNotFound], beside what
// the audit still knows.
func (s *Store) Show(ctx context.Context, db DB, id uuid.UUID) (Operation, []RecordedStep, []Act, error) {
	found, err := s.List(ctx, db, Filter{Operation: id, Limit: 1})
	if err != nil {
		return Operation{}, nil, nil, err
	}
	acts, err := query(ctx, s, db, "audit.sql", pgx.RowToStructByPos[Act], id)
	if err != nil {
		return Operation{}, nil, nil, fmt.Errorf("read the audit of operation %s: %w", id, err)
	}
	if len(found) == 0 {
		return Operation{}, nil, acts, fmt.Errorf("show operation %s: %w", id, ErrNotFound)
	}
	steps, err := query(ctx, s, db, "all_steps.sql", pgx.RowToStructByPos[RecordedStep], id)
	if err != nil {
		return Operation{}, nil, nil, fmt.Errorf("read steps of operation %s: %w", id, err)
	}
	return found[0], steps, acts, nil
}

// Retry makes an operation due now, with all its attempts: one that is stuck or compensating, or
// completed and not released. It returns the state that it is in then, and whether anything was
// changed. by and reason are for the audit, 1 to 255 and 1 to 1024 bytes. Errors: [ErrNotFound],
// *outbox.InvalidArgumentError.
func (s *Store) Retry(ctx context.Context, db DB, id uuid.UUID, by, reason string) (State, bool, error) {
	return s.act(ctx, db, "retry", "retry.sql", id, by, reason)
}

// Abort has an operation compensated now that is in progress and whose lease is over, without
// waiting for the grace. The reconciler does it. It returns as [Store.Retry] does.
func (s *Store) Abort(ctx context.Context, db DB, id uuid.UUID, by, reason string) (State, bool, error) {
	return s.act(ctx, db, "abort", "order_abort.sql", id, by, reason)
}

func (s *Store) act(ctx context.Context, db DB, what, file string, id uuid.UUID, by, reason string) (State, bool, error) {
	type done struct {
		State   State
		Changed bool
	}
	found, err := query(ctx, s, db, file, pgx.RowToStructByPos[done], id, by, reason)
	if err == nil && found[0].State == "" {
		err = ErrNotFound
	}
	if err != nil {
		return "", false, fmt.Errorf("%s operation %s: %w", what, id, err)
	}
	return found[0].State, found[0].Changed, nil
}
