package hold

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// MinRetention is the shortest time that an ended generation and its receipts stay; the
// database holds to it, whatever it is asked.
const MinRetention = 24 * time.Hour

// Retention is how long ended generations and their receipts stay.
type Retention struct {
	// Keep is counted from the decision, and of a cancelled generation from the end of its
	// compensation. It must be longer than RetryHorizon, MinRetention at least. Defaults to 30 days.
	Keep time.Duration
	// RetryHorizon is how long after its first call a coordinator may repeat one. A call that is
	// repeated behind the retention would be refused, and the coordinator would not learn that
	// it had succeeded. Defaults to 7 days.
	RetryHorizon time.Duration
}

// WithDefaults fills what is zero.
func (r Retention) WithDefaults() Retention {
	if r.Keep == 0 {
		r.Keep = 30 * 24 * time.Hour
	}
	if r.RetryHorizon == 0 {
		r.RetryHorizon = 7 * 24 * time.Hour
	}
	return r
}

// Validate returns an [*outbox.InvalidArgumentError] for times that cannot work together.
func (r Retention) Validate() error {
	r = r.WithDefaults()
	switch {
	case r.RetryHorizon < 0:
		return call.Invalid("retry_horizon", fmt.Sprintf("%s is negative", r.RetryHorizon), "Name how long a coordinator repeats its calls.")
	case r.Keep < MinRetention:
		return call.Invalid("retention", fmt.Sprintf("%s is shorter than %s", r.Keep, MinRetention), "Keep receipts for some days, such as 30.")
	case r.Keep <= r.RetryHorizon:
		return call.Invalid("retention", fmt.Sprintf("%s is not longer than the retry horizon %s", r.Keep, r.RetryHorizon),
			"A coordinator may repeat its calls for that long, and must find what became of them.")
	}
	return nil
}

// Pruned is what one batch removed.
type Pruned struct{ Generations, Receipts int64 }

// Prune removes one batch of ended generations and their receipts that are older than the
// retention: at most most receipts, and as many generations. by is who does it, for the audit.
// It waits for nobody: what is locked is left. Never touched are generations that are active,
// or cancelled with something left to undo; the mark of the operation, so that a generation
// that was removed cannot come back; and what was quarantined. Nothing is left to do when both
// counts are 0.
//
// Errors: [*outbox.InvalidArgumentError]; one for which outbox.Retryable is true.
func (s *Store) Prune(ctx context.Context, db DB, by string, retention Retention, most int) (Pruned, error) {
	if err := retention.Validate(); err != nil {
		return Pruned{}, fmt.Errorf("prune generations: %w", err)
	}
	rows, err := db.Query(ctx, s.prune, by, retention.WithDefaults().Keep, most)
	if err != nil {
		return Pruned{}, fmt.Errorf("prune generations: %w", call.Explain(err, outbox.Hold{}))
	}
	pruned, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Pruned])
	if err != nil {
		return Pruned{}, fmt.Errorf("prune generations: %w", call.Explain(err, outbox.Hold{}))
	}
	return pruned, nil
}
