package hold

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Measurement is what waits in a database: counts and ages, by the database's clock.
type Measurement struct {
	// Held events, counted up to MeasuredAtMost: of generations that are active, that have
	// expired, and that a later generation superseded, so that they can only be cancelled.
	HeldActive, HeldOverdue, HeldSuperseded int64
	// OldestHeld is since the oldest of them was staged; 0 when there is none.
	OldestHeld time.Duration
	// Active generations are undecided; Overdue are those of them that have expired.
	Active, Overdue int64
	OldestOverdue   time.Duration // since the first of them expired; 0 when there is none
	// Uncompensated generations are cancelled and have something left to undo.
	Uncompensated int64
	Quarantined   int64 // entities that were left to a person
}

// MeasuredAtMost is how many held events are counted.
const MeasuredAtMost = 100_000

// Measure counts what waits. It locks nothing.
func (s *Store) Measure(ctx context.Context, db DB) (Measurement, error) {
	rows, err := db.Query(ctx, s.measure, MeasuredAtMost)
	if err != nil {
		return Measurement{}, fmt.Errorf("measure holds: %w", call.Explain(err, outbox.Hold{}))
	}
	m, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Measurement])
	if err != nil {
		return Measurement{}, fmt.Errorf("measure holds: %w", call.Explain(err, outbox.Hold{}))
	}
	return m, nil
}
