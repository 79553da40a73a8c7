package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrRunning is returned by [Store.Drain]: the switch of the group is on, so nothing can be proven.
var ErrRunning = errors.New("the group is not paused")

// Drain is a look at what a paused group may commit still.
type Drain struct {
	Group string
	// Cut is the look that found the switch off first: what began before it counts. Give it to the next look.
	Cut time.Time
	// Open are the transactions that began before the cut, the oldest first.
	Open []Session
	// Hidden is how many sessions this role may not see: they prove nothing.
	Hidden int
	// Prepared is how many transactions of this database are prepared and neither committed nor rolled back.
	Prepared int
	// Processed is how many deliveries of the consumers the inbox has as processed after the cut. When it is not
	// zero, something commits that does not obey the switch.
	Processed int
	// LastProcessed is the newest one; nil when the inbox has none.
	LastProcessed *time.Time
}

// Session is a session with a transaction that is open.
type Session struct {
	PID         int32
	User        string
	Application string
	State       string
	Began       time.Time
}

// Drained reports whether it is proven that the group commits nothing more.
func (d *Drain) Drained() bool {
	return len(d.Open) == 0 && d.Hidden == 0 && d.Prepared == 0 && d.Processed == 0
}

// Drain looks once. consumers are those of the group, whose inbox is looked at; the group itself when there
// are none. cut is that of the look before; zero for the first look. Errors: [ErrRunning], and those of
// the database.
func (s *Store) Drain(ctx context.Context, group string, consumers []string, cut time.Time) (*Drain, error) {
	if len(consumers) == 0 {
		consumers = []string{group}
	}
	d := &Drain{Group: group}
	var paused bool
	// The clock is read by a statement of its own, after the switch: whoever reads the switch after the cut
	// finds it off.
	if err := s.db.QueryRow(ctx, s.sql["paused"], group).Scan(&paused); err != nil {
		return nil, fmt.Errorf("read the switch of %s: %w", group, err)
	}
	if !paused {
		return nil, ErrRunning
	}
	err := s.db.QueryRow(ctx, s.sql["drain"], orNull(cut), consumers).Scan(&d.Cut, &d.Hidden, &d.Prepared, &d.Processed, &d.LastProcessed)
	if err != nil {
		return nil, fmt.Errorf("look whether %s is drained: %w", group, err)
	}
	rows, err := s.db.Query(ctx, s.sql["open"], d.Cut)
	if err != nil {
		return nil, fmt.Errorf("look for open transactions: %w", err)
	}
	if d.Open, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Session]); err != nil {
		return nil, fmt.Errorf("look for open transactions: %w", err)
	}
	return d, nil
}
