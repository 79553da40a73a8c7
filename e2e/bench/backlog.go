package main

import (
	"context"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
)

// measureBacklog compares the time for one event of a large backlog with that of a small one, and
// looks at the memory of a relay that drains the large one.
func measureBacklog(ctx context.Context, r *rig) error {
	ratio := &figure.Figure{Name: "backlog_ratio", Unit: "ratio"}
	memory := &figure.Figure{Name: "backlog_memory_mib", Unit: "MiB"}
	small, large := r.scaled(100_000), r.scaled(1_000_000)
	for i := range r.runs {
		progress("run %d of %d: backlogs of %d and %d events", i+1, r.runs, small, large)
		one, err := r.backlogRun(ctx, small)
		if err != nil {
			return err
		}
		other, err := r.backlogRun(ctx, large)
		if err != nil {
			return err
		}
		ratio.Add(one.rate() / other.rate()) // the times of an event are the other way round
		memory.Add(other.peakMiB)
	}
	figures{ratio, memory}.print()
	return nil
}

// backlogRun drains a preloaded database with a process of its own.
func (r *rig) backlogRun(ctx context.Context, n int) (drainedBy, error) {
	if err := r.freshStream(ctx); err != nil {
		return drainedBy{}, err
	}
	pool, drop, err := r.freshDatabase(ctx)
	if err != nil {
		return drainedBy{}, err
	}
	defer drop()
	if err := r.load(ctx, pool, n); err != nil {
		return drainedBy{}, err
	}
	return r.drainWithChildren(ctx, pool, n, 1)
}
