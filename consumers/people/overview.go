package people

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Overview is what the database knows of a consumer.
type Overview struct {
	Name          string
	Deliveries    int64      // in the inbox; pruning makes it smaller
	Failing       int64      // deliveries that failed and come again
	LastProcessed *time.Time // of the inbox
	Quarantine    int64      // open
	Dead          int64      // wait for a decision
	OldestDead    *time.Time
	Requested     int64 // replays that no instance has claimed
	Replaying     int64
}

// Overviews returns what is known of every consumer, or of one, by name. A consumer that has never
// handled anything is not known.
func (s *Store) Overviews(ctx context.Context, name string) ([]Overview, error) {
	rows, err := s.db.Query(ctx, s.sql["overview"], name)
	if err != nil {
		return nil, fmt.Errorf("list consumers: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Overview])
	if err != nil {
		return nil, fmt.Errorf("list consumers: %w", err)
	}
	return list, nil
}

// Switch is how the switch of a group stands.
type Switch struct {
	Group  string
	Paused bool
	By     string
	Reason string
	Since  time.Time
}

// Switches returns the switches that somebody has turned, by group, or that of one group. A group without
// a switch runs.
func (s *Store) Switches(ctx context.Context, group string) ([]Switch, error) {
	rows, err := s.db.Query(ctx, s.sql["switches"], group)
	if err != nil {
		return nil, fmt.Errorf("list switches: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Switch])
	if err != nil {
		return nil, fmt.Errorf("list switches: %w", err)
	}
	return list, nil
}
