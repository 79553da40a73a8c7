package main

import (
	"context"
)

// measureBacklog compares the time for one event of a large backlog with that of a small one, and
// looks at the memory of a relay that drains the large one.
func measureBacklog(ctx context.Context, r *rig) error {
	ratio := &figure{name: "backlog_ratio", unit: "ratio"}
	memory := &figure{name: "backlog_memory_mib", unit: "MiB"}
	small, large := r.scaled(100_000), r.scaled(1_000_000)
	for i := range r.runs {
		progress("run %d of %d: backlogs of %d and %d events", i+1, r.runs, small, large)
		one, _, err := r.backlogRun(ctx, small)
		if err != nil {
			return err
		}
		other, peak, err := r.backlogRun(ctx, large)
		if err != nil {
			return err
		}
		ratio.add(other / one)
		memory.add(peak)
	}
	figures{ratio, memory}.print()
	return nil
}

// backlogRun drains a preloaded database with a process of its own. It returns the seconds that
// an event took, and the most memory that the process has had, in mebibytes.
func (r *rig) backlogRun(ctx context.Context, n int) (perEvent, peakMiB float64, err error) {
	if err := r.freshStream(ctx); err != nil {
		return 0, 0, err
	}
	pool, drop, err := r.freshDatabase(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer drop()
	if err := r.load(ctx, pool, n); err != nil {
		return 0, 0, err
	}
	took, peak, err := r.drainWithChildren(ctx, pool, n, 1)
	return took.Seconds() / float64(n), peak, err
}
