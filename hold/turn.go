package hold

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Verdict is what a coordinator says became of an operation.
type Verdict string

// The verdicts.
const (
	Committed Verdict = "committed" // its events may be sent
	Aborted   Verdict = "aborted"   // nothing of it may stay
	Unknown   Verdict = "unknown"   // still running, or it cannot be said: nothing changes
)

// Resolver asks the coordinator what became of an operation. Committed and Aborted must stay
// true for ever, and Aborted is right only when the coordinator can no longer commit it. An
// error is taken for Unknown. It must be safe for concurrent use, and heed ctx.
type Resolver interface {
	Resolve(ctx context.Context, h outbox.Hold) (Verdict, error)
}

// Turn is a generation that it is the caller's turn to look after, for as long as the lease.
// It protects from work that is done twice, not from change: whoever loses a turn harms
// nothing, because every decision is judged under the lock of the generation.
type Turn struct {
	Hold     outbox.Hold
	OnExpiry OnExpiry // of an overdue generation
	Attempts int      // turns before this one that decided nothing

	token string
}

// Overdue takes a turn at up to most undecided generations that have expired, by the clock of
// the database; with onlyCancel, those whose policy is CancelOnExpiry. A generation that is
// not due is never given out, and so never counted.
func (s *Store) Overdue(ctx context.Context, db DB, lease time.Duration, onlyCancel bool, most int) ([]Turn, error) {
	turns, err := takeTurns(ctx, db, s.overdue, lease, onlyCancel, most)
	if err != nil {
		return nil, fmt.Errorf("take overdue generations: %w", err)
	}
	return turns, nil
}

// CompensationDue takes a turn at up to most cancelled generations with steps to undo.
func (s *Store) CompensationDue(ctx context.Context, db DB, lease time.Duration, most int) ([]Turn, error) {
	turns, err := takeTurns(ctx, db, s.compensationDue, lease, most)
	if err != nil {
		return nil, fmt.Errorf("take generations to compensate: %w", err)
	}
	return turns, nil
}

// PutOff ends a turn that decided nothing: it is counted, and the next one comes after pause.
// false says that the turn had become somebody else's, and nothing is counted.
func (s *Store) PutOff(ctx context.Context, db DB, t Turn, pause time.Duration) (bool, error) {
	rows, err := db.Query(ctx, s.putOff, t.Hold.Operation.String(), t.Hold.Generation, t.token, pause)
	if err != nil {
		return false, fmt.Errorf("put off generation: %w", call.Explain(err, t.Hold))
	}
	ours, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
	if err != nil {
		return false, fmt.Errorf("put off generation: %w", call.Explain(err, t.Hold))
	}
	return ours, nil
}

// Expire is [Store.Cancel] for a generation whose time is over; the audit tells the two apart.
func (s *Store) Expire(ctx context.Context, db DB, h outbox.Hold, by string, opts ...DecideOption) (Answer, error) {
	return s.undo(ctx, db, h, by, "expire", opts)
}

func takeTurns(ctx context.Context, db DB, statement string, args ...any) ([]Turn, error) {
	rows, err := db.Query(ctx, statement, args...)
	if err != nil {
		return nil, call.Explain(err, outbox.Hold{})
	}
	turns, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Turn, error) {
		var t Turn
		var operation string
		err := row.Scan(&operation, &t.Hold.Generation, &t.OnExpiry, &t.Attempts, &t.token)
		if err != nil {
			return Turn{}, err
		}
		t.Hold.Operation, err = uuid.Parse(operation)
		return t, err
	})
	if err != nil {
		return nil, call.Explain(err, outbox.Hold{})
	}
	return turns, nil
}
