package hold

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// State says what became of a generation. It locks nothing, so Active may be old news
// when it arrives; Released and Cancelled stay true. Changed is always false.
//
// Errors: outbox.ErrGenerationUnknown for a generation that was never registered or was
// pruned; [*outbox.InvalidArgumentError]. The caller's transaction can go on after both.
func (s *Store) State(ctx context.Context, db DB, h outbox.Hold) (Generation, error) {
	if err := call.CheckHold(h); err != nil {
		return Generation{}, fmt.Errorf("read generation: %w", err)
	}
	rows, err := db.Query(ctx, s.state, h.Operation.String(), h.Generation)
	if err != nil {
		return Generation{}, fmt.Errorf("read generation: %w", call.Explain(err, h))
	}
	found, err := pgx.CollectRows(rows, scanGeneration)
	if err != nil {
		return Generation{}, fmt.Errorf("read generation: %w", call.Explain(err, h))
	}
	if len(found) == 0 {
		return Generation{}, fmt.Errorf("read generation: %w", call.Unknown(h))
	}
	return found[0], nil
}

func scanGeneration(row pgx.CollectableRow) (Generation, error) {
	var g Generation
	var decidedAt, expiresAt *time.Time
	var decidedBy, reason *string
	err := row.Scan(&g.State, &g.MaxGeneration, &g.Held, &g.Released, &g.Dropped, &g.Changed,
		&g.Principal, &g.RegisteredAt, &decidedAt, &decidedBy, &reason, &expiresAt, &g.OnExpiry)
	if err != nil {
		return Generation{}, err
	}
	g.RegisteredAt = g.RegisteredAt.UTC()
	g.DecidedAt, g.ExpiresAt = utc(decidedAt), utc(expiresAt)
	g.DecidedBy, g.Reason = text(decidedBy), text(reason)
	return g, nil
}

func utc(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
