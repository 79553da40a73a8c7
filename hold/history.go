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

// Act is a decision that was about an event: about its generation, or about it alone.
type Act struct {
	At     time.Time
	Hold   outbox.Hold
	Action string // release, cancel, drop, expire or drop-event
	Actor  string
	Reason string // "" for none
	Events int64  // that it released or dropped
}

// EventHistory returns the decisions about an event that is or was held under a generation, oldest
// first, and those that dropped an event with that id alone, under whatever generation. The zero
// Hold asks only for the latter. It reads hold_audit, which the roles of operators and auditors may.
func (s *Store) EventHistory(ctx context.Context, db DB, eventID string, h outbox.Hold) ([]Act, error) {
	var operation *string
	if h.Operation != uuid.Nil {
		text := h.Operation.String()
		operation = &text
	}
	rows, err := db.Query(ctx, s.eventHistory, eventID, operation, h.Generation)
	if err != nil {
		return nil, fmt.Errorf("read the history of event %s: %w", eventID, call.Explain(err, h))
	}
	acts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a Act, err error) {
		var operation string
		if err = row.Scan(&a.At, &operation, &a.Hold.Generation, &a.Action, &a.Actor, &a.Reason, &a.Events); err != nil {
			return a, err
		}
		a.Hold.Operation, err = uuid.Parse(operation)
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the history of event %s: %w", eventID, call.Explain(err, h))
	}
	return acts, nil
}
