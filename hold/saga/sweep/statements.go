package sweep

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
)

// Statements is an [Undoer] made of two statements of the service, for those who sweep without a Go
// program of their own. Both may take $1, the id of the candidate as text; the undo may take $2, who does it, and
// $3, why. Each is one statement: it may call a function, which is the way to give the operator's login
// no right on the tables themselves.
type Statements struct {
	// LockSQL takes the lock, such as SELECT FROM person WHERE id = $1::uuid FOR UPDATE. A lock that the
	// statement of the undo took itself would come too late: that statement sees what was there before it.
	LockSQL string
	// UndoSQL returns one row with outcome, 'undone' or 'quarantined', and reason, a code that says why it
	// was left intact. No row fails the candidate.
	UndoSQL string
}

// Lock implements [Undoer].
func (s Statements) Lock(ctx context.Context, tx pgx.Tx, c Candidate) error {
	_, err := tx.Exec(ctx, "WITH service AS MATERIALIZED (\n"+trimmed(s.LockSQL)+"\n) SELECT count(*) FROM service WHERE $1::text <> ''", c.ID)
	return err
}

// Undo implements [Undoer].
func (s Statements) Undo(ctx context.Context, tx pgx.Tx, c Candidate, by Order) (hold.Fate, error) {
	// The condition is always true. It gives the parameters that the service leaves out a type.
	rows, err := tx.Query(ctx, "WITH service AS MATERIALIZED (\n"+trimmed(s.UndoSQL)+
		"\n) SELECT outcome::text, coalesce(reason::text, '') FROM service WHERE $1::text || $2::text || $3::text <> ''", c.ID, by.Actor, by.Reason)
	if err != nil {
		return hold.Fate{}, err
	}
	var outcome, reason string
	n := 0
	if _, err = pgx.ForEachRow(rows, []any{&outcome, &reason}, func() error { n++; return nil }); err != nil {
		return hold.Fate{}, err
	}
	switch {
	case n != 1:
		return hold.Fate{}, fmt.Errorf("the statement of undo returned %d rows, want 1", n)
	case outcome == string(Undone):
		return hold.Undone(), nil
	case outcome == string(Quarantined):
		return hold.Quarantine(reason), nil
	}
	return hold.Fate{}, fmt.Errorf("the statement of undo returned an outcome that is neither %s nor %s", Undone, Quarantined)
}
