package hold

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Receipt says which entity a step made.
type Receipt struct {
	Hold                 outbox.Hold
	Step                 string // the text of a receipt.StepKey
	EntityKind, StableID string
	AppliedAt            time.Time
}

// Compensator undoes the entities of a service, one at a time. It must be safe for concurrent
// use. Both methods run in the transaction that records the outcome: they must not end it, nor
// change anything outside of it. They stage no event, since nobody was told of the entity: the
// library refuses the step if they do.
type Compensator interface {
	// Lock takes the lock under which everybody changes the entity, such as its row FOR
	// UPDATE or an advisory lock of the transaction. An entity that is gone is no error.
	Lock(ctx context.Context, tx pgx.Tx, r Receipt) error
	// Undo is called under that lock. It looks whether the entity is owned by this operation
	// alone, and then erases or deactivates it, scoped to what the step made, and never the
	// shared history; or it leaves the entity intact and gives it to a person.
	Undo(ctx context.Context, tx pgx.Tx, r Receipt) (Fate, error)
}

// Fate is what became of an entity. The zero value is none.
type Fate struct{ outcome, reason string }

// Undone says that nothing of the entity is left in effect.
func Undone() Fate { return Fate{outcome: "undone"} }

// Quarantine says that the entity was left intact, because it is shared or was changed by
// something else, and why: 1 to 1024 bytes, and nothing that an operator must not read. It is
// final, and it does not keep the generation from being finished.
func Quarantine(reason string) Fate { return Fate{outcome: "quarantined", reason: reason} }

// Outcome returns "undone" or "quarantined", and "" for the zero value.
func (f Fate) Outcome() string { return f.outcome }

// Reason returns why the entity was left intact.
func (f Fate) Reason() string { return f.reason }

func (f Fate) check() error {
	switch f.outcome {
	case "undone":
		return nil
	case "quarantined":
		return call.CheckText("reason", f.reason, 1, 1024, "Say why the entity was left intact: a person will read it.")
	}
	return call.Invalid("outcome", "must be undone or quarantined", "Return hold.Undone(), hold.Quarantine(reason) or an error.")
}

const rollbackLimit = 5 * time.Second

// Quarantined is an entity that compensation left intact, for a person.
type Quarantined struct {
	Step, EntityKind, StableID, Reason string
	At                                 time.Time
}

// Quarantined names the entities that compensation of a generation has left intact. They
// outlive the generation.
//
// Errors: [*outbox.InvalidArgumentError].
func (s *Store) Quarantined(ctx context.Context, db DB, h outbox.Hold) ([]Quarantined, error) {
	if err := call.CheckHold(h); err != nil {
		return nil, fmt.Errorf("list quarantined entities: %w", err)
	}
	rows, err := db.Query(ctx, s.quarantined, h.Operation.String(), h.Generation)
	if err != nil {
		return nil, fmt.Errorf("list quarantined entities: %w", call.Explain(err, h))
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Quarantined, error) {
		var q Quarantined
		err := row.Scan(&q.Step, &q.EntityKind, &q.StableID, &q.Reason, &q.At)
		q.At = q.At.UTC()
		return q, err
	})
	if err != nil {
		return nil, fmt.Errorf("list quarantined entities: %w", call.Explain(err, h))
	}
	return found, nil
}
