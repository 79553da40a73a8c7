package hold

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// EventName names a held event.
type EventName struct {
	ID string
	// Source is needed only when events of several sources have this id.
	Source string
}

// DropEvent deletes one held event, in all copies that were staged, and returns how many that
// were. The generation stays as it is. by is who decides, reason is why, 1 to 1024 bytes;
// both are for the audit. A repeated call, and a name that no held event has, give 0.
//
// Errors:
//   - outbox.ErrGenerationUnknown, outbox.ErrGenerationReleased, outbox.ErrGenerationCancelled.
//   - [*outbox.InvalidArgumentError]: nothing was changed; for the argument "source", events
//     of several sources have the id.
//   - one for which outbox.Retryable is true.
//
// After an error from the database the caller's transaction has to be rolled back.
func (s *Store) DropEvent(ctx context.Context, db DB, h outbox.Hold, event EventName, by, reason string) (int64, error) {
	err := errors.Join(check(h, by),
		call.CheckText("event_id", event.ID, 1, 255, "Store.Events lists the ids."),
		call.CheckText("reason", reason, 1, 1024, "Say why this event must not be sent: a part of what the service decided is taken away."))
	if err != nil {
		return 0, fmt.Errorf("drop held event: %w", err)
	}
	rows, err := db.Query(ctx, s.dropEvent, h.Operation.String(), h.Generation, event.ID, by, reason, optional(event.Source))
	if err != nil {
		return 0, fmt.Errorf("drop held event: %w", call.Explain(err, h))
	}
	n, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, fmt.Errorf("drop held event: %w", call.Explain(err, h))
	}
	return n, nil
}
