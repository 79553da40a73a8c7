package keeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/internal/round"
)

// compensate goes on with cancelled generations that have something left to undo: those that
// this keeper cancelled, and those whose caller died half-way.
func (k *Keeper) compensate(ctx context.Context, r *Report) error {
	if k.cfg.Compensator == nil {
		return nil
	}
	var found round.Faults
	for range k.cfg.Most {
		turns, err := k.store.CompensationDue(ctx, k.db, k.cfg.Turn, 1)
		if err != nil {
			found.Add(err)
			break
		}
		if len(turns) == 0 {
			break
		}
		if err := k.undo(ctx, turns[0], r); err != nil {
			found.Add(fmt.Errorf("undo operation %s generation %d: %w", turns[0].Hold.Operation, turns[0].Hold.Generation, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return found.Join()
}

func (k *Keeper) undo(ctx context.Context, t hold.Turn, r *Report) error {
	answer, err := k.store.Compensate(ctx, k.db, t.Hold, k.cfg.Name, k.cfg.Compensator)
	if err == nil && answer.Pending == 0 {
		if answer.Changed {
			r.Compensated++
			k.cfg.Logger.Info("generation compensated", "operation", t.Hold.Operation, "generation", t.Hold.Generation,
				"undone", answer.Undone, "quarantined", len(answer.Quarantined))
		}
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	_, putOff := k.store.PutOff(ctx, k.db, t, k.pause(t.Attempts))
	return errors.Join(err, putOff)
}
