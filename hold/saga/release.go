package saga

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/round"
)

// releaseDue repeats releases that were not confirmed, for ever: the operation is completed, and its
// events must not be lost.
func (c *Coordinator) releaseDue(ctx context.Context, r *Report) error {
	due, err := query(ctx, c.store, c.db, "due_release.sql", pgx.RowToStructByPos[Due], c.names, c.options.Most)
	if err != nil {
		return fmt.Errorf("list operations to release: %w", err)
	}
	var found round.Faults
	for _, d := range due {
		if err := c.releaseOne(ctx, d, r); err != nil {
			found.Add(fmt.Errorf("release operation %s generation %d: %w", d.Operation, d.Generation, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return found.Join()
}

func (c *Coordinator) releaseOne(ctx context.Context, d Due, r *Report) error {
	s := c.store
	turns, err := query(ctx, s, c.db, "claim_release.sql", pgx.RowToStructByPos[turn], d.Operation, d.Generation, s.settings.ParticipantTimeout+s.settings.Margin)
	if err != nil || len(turns) == 0 {
		return err
	}
	t := turns[0]
	claim := Claim{Operation: d.Operation, Generation: d.Generation}
	all, err := c.participants(t.Kind, t.Participants)
	if err == nil {
		err = c.release(ctx, all, claim.Hold())
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.PutOff++
		countReleaseFailed(ctx)
		_, putOff := s.changed(ctx, c.db, "put_off_release.sql", d.Operation, d.Generation, s.settings.pause(t.Attempts))
		return errors.Join(err, putOff)
	}
	done, err := s.MarkReleased(ctx, c.db, claim)
	if err == nil && done {
		r.Released++
		c.logger.InfoContext(ctx, "operation released", "operation", d.Operation, "generation", d.Generation, "kind", t.Kind)
	}
	return err
}
