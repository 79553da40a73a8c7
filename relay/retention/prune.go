package retention

import (
	"context"
	"fmt"
	"time"
)

// Pruned is how many rows were removed from the tables that record.
type Pruned struct{ Batches, History, Audit int64 }

// pruneAtMost is how many rows of a table one transaction removes.
const pruneAtMost = 2000

// pruneIsDue reports whether old records are to be looked for; at most once an hour.
func (k *Keeper) pruneIsDue() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pruned.IsZero() || time.Since(k.pruned) >= pruneEvery
}

// prune removes old records, a batch at a time, until there are no more.
func (k *Keeper) prune(ctx context.Context, token string, r *Report) error {
	for {
		if err := k.renew(ctx, token); err != nil {
			return err
		}
		var n Pruned
		err := k.step(ctx, func(ctx context.Context) error {
			return k.db.QueryRow(ctx, k.sql["prune"], token, batchesStay(r.State), k.cfg.Records, pruneAtMost).Scan(&n.Batches, &n.History, &n.Audit)
		})
		switch {
		case lockTimeout(err):
			return nil // somebody has the lease's row: later
		case err != nil:
			return withHint(fmt.Errorf("prune records: %w", err))
		case n.Batches < 0:
			return errLost
		}
		r.Pruned.Batches += n.Batches
		r.Pruned.History += n.History
		r.Pruned.Audit += n.Audit
		if n.Batches+n.History+n.Audit == 0 {
			break
		}
	}
	k.mu.Lock()
	k.pruned = time.Now()
	k.mu.Unlock()
	if r.Pruned != (Pruned{}) {
		k.cfg.Logger.Info("old records removed", "batches", r.Pruned.Batches, "history", r.Pruned.History, "audit", r.Pruned.Audit)
	}
	return nil
}

// batchesStay is how long batches are kept: as long as an event that was settled with one can be in
// the log, if slots are emptied when they may be.
func batchesStay(s *State) time.Duration {
	return max(s.Keep, s.Longest) + 3*s.Period
}
