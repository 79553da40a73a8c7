package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// measureScale compares 2 and 4 relay processes on one database with one, and ten databases of one
// cluster, each with a relay process of its own, with one database. All share the machine's
// cores, so it shows what more processes cost rather than what more machines give.
func measureScale(ctx context.Context, r *rig) error {
	list := figures{
		{name: "scale_relays_2_ratio", unit: "ratio"}, {name: "scale_relays_4_ratio", unit: "ratio"},
		{name: "scale_databases_10_ratio", unit: "ratio"},
	}
	for i := range r.runs {
		var rates [4]float64
		for j, way := range []struct{ databases, relays int }{{1, 1}, {1, 2}, {1, 4}, {10, 1}} {
			progress("run %d of %d: %d databases with %d relays each", i+1, r.runs, way.databases, way.relays)
			rate, err := r.scaleRun(ctx, way.databases, way.relays)
			if err != nil {
				return err
			}
			rates[j] = rate
		}
		for j, f := range list {
			f.add(rates[j+1] / rates[0])
		}
	}
	list.print()
	return nil
}

// scaleRun drains the events of a run, spread over databases, and returns the rate over all.
func (r *rig) scaleRun(ctx context.Context, databases, relays int) (float64, error) {
	if err := r.freshStream(ctx); err != nil {
		return 0, err
	}
	each := r.events / databases
	var pools []*pgxpool.Pool
	for range databases {
		pool, drop, err := r.freshDatabase(ctx)
		if err != nil {
			return 0, err
		}
		defer drop()
		if err := r.load(ctx, pool, each); err != nil {
			return 0, err
		}
		pools = append(pools, pool)
	}
	type result struct {
		took time.Duration
		err  error
	}
	results := make(chan result, databases)
	for _, pool := range pools {
		go func() {
			took, _, err := r.drainWithChildren(ctx, pool, each, relays)
			results <- result{took, err}
		}()
	}
	var longest time.Duration
	var failed error
	for range databases {
		got := <-results
		longest, failed = max(longest, got.took), errors.Join(failed, got.err)
	}
	return float64(each*databases) / longest.Seconds(), failed
}
