package saga

import (
	"context"
	"fmt"
)

// prunedAtMost is how many operations one statement removes.
const prunedAtMost = 1000

// Prune removes one batch of operations that ended longer ago than the retention: aborted ones, and
// those that are completed and released. It waits for nobody. It returns how many it removed; a full batch
// is 1000.
func (s *Store) Prune(ctx context.Context, db DB) (int64, error) {
	tag, err := db.Exec(ctx, s.statements["prune.sql"], s.settings.Retention, prunedAtMost)
	if err != nil {
		return 0, fmt.Errorf("prune operations: %w", explain(err))
	}
	return tag.RowsAffected(), nil
}

// pruneBatches bounds one tick, so that the first one behind a long rest does not keep others waiting.
const pruneBatches = 100

func (c *Coordinator) prune(ctx context.Context, r *Report) error {
	for range pruneBatches {
		n, err := c.store.Prune(ctx, c.db)
		r.Pruned += n
		if err != nil || n < prunedAtMost {
			return err
		}
	}
	return nil
}
