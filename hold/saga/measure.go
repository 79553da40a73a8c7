package saga

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Measurement is what waits in a database: counts of operations, and ages by the database's clock.
type Measurement struct {
	InProgress, Compensating, Stuck int64
	// Unreleased are completed, and not every participant has confirmed the release.
	Unreleased int64
	// Unhandled are due, and of a kind that is not known here.
	Unhandled int64
	// OldestUnreleased is since the first of them was completed, and OldestCompensating since the first
	// was taken from its holder; 0 when there is none.
	OldestUnreleased, OldestCompensating time.Duration
	// LastTick is since a reconciler went through all that is due; nil when none ever did.
	LastTick *time.Duration
}

// Measure counts what waits. kinds are those that are known here. It locks nothing.
func (s *Store) Measure(ctx context.Context, db DB, kinds []string) (Measurement, error) {
	found, err := query(ctx, s, db, "measure.sql", pgx.RowToStructByPos[Measurement], kinds, s.settings.Grace)
	if err != nil {
		return Measurement{}, fmt.Errorf("measure operations: %w", err)
	}
	return found[0], nil
}

// measure reads what waits, for the metrics and the alarms of the log.
func (c *Coordinator) measure(ctx context.Context, r *Report) error {
	last, err := c.store.Measure(ctx, c.db, c.names)
	if err != nil {
		return err
	}
	c.metrics.last.Keep(last, leadFor*c.store.settings.Period+time.Minute)
	r.Waiting = last
	c.alarm(ctx, last)
	return nil
}

// alarm tells what changed.
func (c *Coordinator) alarm(ctx context.Context, last Measurement) {
	if before := c.leader.stuck.Swap(last.Stuck); before != last.Stuck {
		if last.Stuck > 0 {
			c.logger.ErrorContext(ctx, "operations are stuck", "operations", last.Stuck, "hint", "relay operation list --state stuck")
		} else {
			c.logger.InfoContext(ctx, "no operation is stuck")
		}
	}
	late := last.OldestUnreleased > c.store.settings.ReleaseAlarm
	if before := c.leader.late.Swap(late); before != late {
		if late {
			c.logger.ErrorContext(ctx, "completed operations are not released", "operations", last.Unreleased,
				"age", last.OldestUnreleased.Round(time.Second), "hint", "relay operation list --unreleased")
		} else {
			c.logger.InfoContext(ctx, "completed operations are released in time")
		}
	}
}
