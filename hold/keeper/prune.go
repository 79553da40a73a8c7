package keeper

import "context"

// pruneAtMost is how many receipts one transaction removes.
const pruneAtMost = 1000

// prune removes what is old, batch by batch. What is locked is left for the next pass. A pass
// has a limit, so that the first one behind a long rest does not keep the rest waiting.
func (k *Keeper) prune(ctx context.Context, r *Report) error {
	for range k.cfg.Most {
		pruned, err := k.store.Prune(ctx, k.db, k.cfg.Name, k.cfg.Retention, pruneAtMost)
		if err != nil {
			return err
		}
		r.Pruned.Generations += pruned.Generations
		r.Pruned.Receipts += pruned.Receipts
		if pruned.Generations == 0 && pruned.Receipts == 0 {
			break
		}
	}
	if r.Pruned.Generations > 0 {
		k.cfg.Logger.Info("old generations pruned", "generations", r.Pruned.Generations, "receipts", r.Pruned.Receipts)
	}
	return nil
}
