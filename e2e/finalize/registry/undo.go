package registry

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
)

// eraser undoes what the step of an operation made. It implements hold.Compensator.
type eraser struct{}

// Lock takes the row of the entity, which everybody shares who adds to it.
func (eraser) Lock(ctx context.Context, tx pgx.Tx, r hold.Receipt) error {
	_, err := tx.Exec(ctx, lockEntitySQL, r.StableID)
	return err
}

// Undo destroys the keys of what the operation knew, unless somebody else uses the entity.
func (eraser) Undo(ctx context.Context, tx pgx.Tx, r hold.Receipt) (hold.Fate, error) {
	var shared string
	if err := tx.QueryRow(ctx, judgeSQL, r.StableID, r.Hold.Operation, r.Hold.Generation).Scan(&shared); err != nil {
		return hold.Fate{}, err
	}
	if shared != "" {
		return hold.Quarantine(shared), nil
	}
	_, err := tx.Exec(ctx, eraseSQL, r.StableID, r.Hold.Operation, r.Hold.Generation)
	return hold.Undone(), err
}
