package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
)

// measureScale compares 2 and 4 relay processes on one database with one, and ten databases of one
// cluster, each with a relay process of its own, with one database. All share the machine's
// cores, so it shows what more processes cost rather than what more machines give.
func measureScale(ctx context.Context, r *rig) error {
	many := 10
	if r.quick {
		many = 3
	}
	ways := []struct {
		name              string
		databases, relays int
	}{
		{"", 1, 1}, {"scale_relays_2_ratio", 1, 2}, {"scale_relays_4_ratio", 1, 4},
		{fmt.Sprintf("scale_databases_%d_ratio", many), many, 1},
	}
	var list figures
	for _, way := range ways[1:] {
		list = append(list, &figure.Figure{Name: way.name, Unit: "ratio"})
	}
	for i := range r.runs {
		var alone float64
		for j, way := range ways {
			progress("run %d of %d: %d databases with %d relays each", i+1, r.runs, way.databases, way.relays)
			rate, err := r.scaleRun(ctx, way.databases, way.relays)
			if err != nil {
				return err
			}
			if j == 0 {
				alone = rate
				continue
			}
			list[j-1].Add(rate / alone)
		}
	}
	list.print()
	return nil
}

// scaleRun drains the events of a run, spread over databases, and returns the rate over all, from the
// first settled event of any to the last one.
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
	parts := make([]drainedBy, databases)
	group, draining := errgroup.WithContext(ctx)
	for i, pool := range pools {
		group.Go(func() (err error) {
			parts[i], err = r.drainWithChildren(draining, pool, each, relays)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return together(parts).rate(), nil
}

// together is what several databases gave that were drained side by side.
func together(parts []drainedBy) drainedBy {
	all := parts[0]
	for _, p := range parts[1:] {
		if p.from.Before(all.from) {
			all.from = p.from
		}
		if p.to.After(all.to) {
			all.to = p.to
		}
		all.events += p.events
	}
	return all
}
