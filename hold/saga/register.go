package saga

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// register opens the generation at every participant. A participant may remember later generations
// than this database, where an aborted operation was pruned: then the operation takes the next one
// that is free everywhere, after it has cancelled this one, and before its first step.
func (c *Coordinator) register(ctx context.Context, won *Won, all []named) error {
	for range 2 { // the second time the answer of all is known
		highest, err := c.registerOnce(ctx, won, all)
		if err != nil || highest == 0 {
			return err
		}
		if highest >= math.MaxInt32 {
			return ErrGenerationClosed
		}
		if err := c.leave(ctx, won, all); err != nil {
			return err
		}
		next := highest + 1
		ours, err := c.store.changed(ctx, c.db, "next_generation.sql", won.Operation, won.Generation, won.Holder, next)
		if err != nil {
			return fmt.Errorf("take generation %d: %w", next, err)
		}
		if !ours {
			return ErrGenerationClosed
		}
		won.Generation = next
	}
	return ErrGenerationClosed
}

// leave cancels a generation in which no step was made. A participant that knows nothing of it has
// nothing to cancel. One that has released it ends the operation here: what is released has happened,
// and must not happen once more under the next generation.
func (c *Coordinator) leave(ctx context.Context, won *Won, all []named) error {
	for _, err := range c.cancel(ctx, all, won.Hold()) {
		switch {
		case errors.Is(err, outbox.ErrGenerationReleased):
			return fmt.Errorf("%w: %w", ErrGenerationClosed, err)
		case !errors.Is(err, outbox.ErrGenerationUnknown) && !errors.Is(err, outbox.ErrGenerationSuperseded):
			return err
		}
	}
	return nil
}

// registerOnce returns 0 when the generation is active everywhere, otherwise the highest one that some
// participant remembers.
func (c *Coordinator) registerOnce(ctx context.Context, won *Won, all []named) (highest int, err error) {
	for _, p := range all {
		limited, cancel := context.WithTimeout(ctx, c.store.settings.ParticipantTimeout)
		answer, err := p.Register(limited, won.Hold())
		cancel()
		var refused *outbox.HoldRefusedError
		switch {
		case errors.Is(err, outbox.ErrGenerationReleased):
			return 0, fmt.Errorf("register at %s: %w: %w", p.name, ErrGenerationClosed, err)
		case errors.As(err, &refused):
			highest = max(highest, refused.MaxGeneration, won.Generation)
		case err != nil:
			return 0, fmt.Errorf("register at %s: %w", p.name, err)
		case answer.State == hold.Released:
			return 0, fmt.Errorf("register at %s: %w: it is released", p.name, ErrGenerationClosed)
		case answer.State != hold.Active:
			highest = max(highest, answer.MaxGeneration, won.Generation)
		}
	}
	return highest, nil
}
