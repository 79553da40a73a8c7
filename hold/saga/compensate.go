package saga

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/hold/internal/round"
)

// compensateDue undoes what nobody ends. One bad operation does not stop the others.
func (c *Coordinator) compensateDue(ctx context.Context, r *Report) error {
	due, err := c.store.ListStuck(ctx, c.db, c.names, c.options.Most)
	if err != nil {
		return err
	}
	var found round.Faults
	for _, d := range due {
		if err := c.compensate(ctx, d, r); err != nil {
			found.Add(fmt.Errorf("compensate operation %s generation %d: %w", d.Operation, d.Generation, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return found.Join()
}

func (c *Coordinator) compensate(ctx context.Context, d Due, r *Report) error {
	t, claimed, err := c.store.ClaimForCompensation(ctx, c.db, d, c.options.Name)
	if err != nil || !claimed {
		return err
	}
	all, err := c.participants(t.Kind, t.Participants)
	if err != nil {
		// Aborted although one was left out it must not be; another replica may know it.
		return errors.Join(err, c.putOff(ctx, t, false, r))
	}
	if failed := c.cancel(ctx, all, t.Hold()); failed != nil {
		if ctx.Err() != nil {
			return ctx.Err() // nobody answered: the turn ends by itself, and nothing is counted
		}
		final := false
		for _, err := range failed {
			final = final || Judge(err).Final()
		}
		return errors.Join(append(failed, c.putOff(ctx, t, final, r))...)
	}
	if err := c.store.MarkAborted(ctx, c.db, t.Claim, c.options.Name); err != nil {
		if isLost(err) {
			r.LeaseLost++ // somebody else goes on with it
			return nil
		}
		return err
	}
	r.Aborted++
	c.logger.InfoContext(ctx, "operation aborted", "operation", t.Operation, "generation", t.Generation, "kind", t.Kind)
	return nil
}

// putOff leaves an operation for later, or to a person.
func (c *Coordinator) putOff(ctx context.Context, t Compensation, final bool, r *Report) error {
	state, err := c.store.putOff(ctx, c.db, t, final, c.options.Name)
	switch {
	case isLost(err):
		r.LeaseLost++
		return nil
	case err != nil:
		return err
	case state == StateStuck:
		r.Stuck++
		c.logger.ErrorContext(ctx, "operation is stuck", "operation", t.Operation, "generation", t.Generation, "kind", t.Kind,
			"attempts", t.Attempts+1, "hint", "mend what the participant refuses, then: relay operation retry")
	default:
		r.PutOff++
	}
	return nil
}
