package hold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Register opens a generation for held events. Only the coordinator calls it: after its
// claim of the operation, before its first write. by is who asks, 1 to 255 bytes, such
// as the name of the service; it becomes the principal of the generation.
//
// A generation that exists is left as it is, also its options, and the answer says in
// which state: to register after a cancel gives Cancelled, and no error.
//
// Errors:
//   - outbox.ErrGenerationSuperseded: the operation has a later generation.
//   - outbox.ErrGenerationUnknown: the generation existed, was decided and pruned.
//   - [*outbox.InvalidArgumentError]: nothing was sent.
//   - one for which outbox.Retryable is true, at REPEATABLE READ and above.
//
// After an error from the database the caller's transaction has to be rolled back.
func (s *Store) Register(ctx context.Context, db DB, h outbox.Hold, by string, opts ...RegisterOption) (Answer, error) {
	r, err := registrationOf(opts)
	if err := errors.Join(check(h, by), err); err != nil {
		return Answer{}, fmt.Errorf("register generation: %w", err)
	}
	answer, err := ask(ctx, db, h, s.register, h.Operation.String(), h.Generation, by, r.expiresAt, string(r.onExpiry))
	if err != nil {
		return Answer{}, fmt.Errorf("register generation: %w", err)
	}
	return answer, nil
}

// Release puts every held event of the generation into the log, in the order in which
// they were staged, and seals the generation. It waits for held writes that are open. by
// is who decides, 1 to 255 bytes, for the audit. Any number of events is one call.
//
// A repeated call gets the same answer with Changed false. A generation without events
// is released all the same.
//
// Errors:
//   - outbox.ErrGenerationCancelled: the other decision was first.
//   - outbox.ErrGenerationUnknown, outbox.ErrGenerationSuperseded.
//   - [*outbox.InvalidArgumentError]: nothing was changed; for the argument "isolation",
//     the transaction is not READ COMMITTED.
//   - one for which outbox.Retryable is true.
//
// After an error from the database the caller's transaction has to be rolled back.
func (s *Store) Release(ctx context.Context, db DB, h outbox.Hold, by string, opts ...DecideOption) (Answer, error) {
	d, err := decisionOf(opts)
	if err := errors.Join(check(h, by), err); err != nil {
		return Answer{}, fmt.Errorf("release generation: %w", err)
	}
	begun := time.Now()
	answer, err := ask(ctx, db, h, s.release, h.Operation.String(), h.Generation, by, d.reason)
	if err != nil {
		return Answer{}, fmt.Errorf("release generation: %w", err)
	}
	if answer.Changed {
		countRelease(ctx, time.Since(begun))
	}
	return answer, nil
}

// Cancel marks the generation cancelled and deletes its held events, in one
// transaction. It waits for held writes that are open. The entities of the operation
// stay: compensation is the service's. by is who decides, 1 to 255 bytes, for the audit.
//
// A generation that was never registered gets a tombstone, which refuses all that comes
// later. A repeated call gets the same answer with Changed false. A generation that a
// later one superseded can be cancelled.
//
// Errors:
//   - outbox.ErrGenerationReleased: the other decision was first.
//   - outbox.ErrGenerationUnknown: the generation is not there and not above the highest
//     of its operation. It was pruned or never got here; what became of it cannot be said.
//   - [*outbox.InvalidArgumentError]: nothing was changed; for the argument "isolation",
//     the transaction is not READ COMMITTED.
//   - one for which outbox.Retryable is true.
//
// After an error from the database the caller's transaction has to be rolled back.
func (s *Store) Cancel(ctx context.Context, db DB, h outbox.Hold, by string, opts ...DecideOption) (Answer, error) {
	return s.undo(ctx, db, h, by, "cancel", opts)
}

// Drop is [Store.Cancel] without compensation, for the owner of the entities who undoes
// them in the same transaction, or has none to undo. The audit tells the two apart.
func (s *Store) Drop(ctx context.Context, db DB, h outbox.Hold, by string, opts ...DecideOption) (Answer, error) {
	return s.undo(ctx, db, h, by, "drop", opts)
}

func (s *Store) undo(ctx context.Context, db DB, h outbox.Hold, by, action string, opts []DecideOption) (Answer, error) {
	d, err := decisionOf(opts)
	if err := errors.Join(check(h, by), err); err != nil {
		return Answer{}, fmt.Errorf("%s generation: %w", action, err)
	}
	answer, err := ask(ctx, db, h, s.cancel, h.Operation.String(), h.Generation, by, d.reason, action)
	if err != nil {
		return Answer{}, fmt.Errorf("%s generation: %w", action, err)
	}
	return answer, nil
}

func check(h outbox.Hold, by string) error {
	if err := call.CheckHold(h); err != nil {
		return err
	}
	return call.CheckText("actor", by, 1, 255, "Say who decides, such as the service or the operator: every change is audited.")
}

// ask runs a statement that answers with one row.
func ask(ctx context.Context, db DB, h outbox.Hold, statement string, args ...any) (Answer, error) {
	rows, err := db.Query(ctx, statement, args...)
	if err != nil {
		return Answer{}, call.Explain(err, h)
	}
	answer, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Answer])
	if err != nil {
		return Answer{}, call.Explain(err, h)
	}
	return answer, nil
}
