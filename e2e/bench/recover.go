package main

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
)

// measureRecovery measures what a crash of the database leaves of the rate: events are written and drained by
// one relay, the server is stopped as a crash would and started again, and the same is done once more by the
// same relay.
func measureRecovery(ctx context.Context, r *rig) error {
	ratio := &figure.Figure{Name: "recovery_ratio", Unit: "ratio"}
	pause := &figure.Figure{Name: "recovery_s", Unit: "s"}
	for i := range r.runs {
		progress("run %d of %d: drain before and after a crash of the database", i+1, r.runs)
		before, after, again, err := r.crashBetween(ctx)
		if err != nil {
			return err
		}
		ratio.Add(before.Seconds() / after.Seconds())
		pause.Add(again.Seconds())
	}
	figures{ratio, pause}.print()
	return nil
}

// crashBetween returns how long the same work takes before and after, and how long after the start of
// the server the first event of the second part is settled.
func (r *rig) crashBetween(ctx context.Context) (before, after, again time.Duration, err error) {
	if err := r.freshStream(ctx); err != nil {
		return 0, 0, 0, err
	}
	pool, drop, err := r.freshDatabase(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	defer drop()
	end, err := r.startRelay(ctx, pool, r.relayConfig())
	if err != nil {
		return 0, 0, 0, err
	}
	work := func(done int) (time.Duration, error) {
		start := time.Now()
		if err := r.load(ctx, pool, r.events); err != nil {
			return 0, err
		}
		err := r.untilSettled(ctx, pool, done+r.events)
		return time.Since(start), err
	}
	crash := func() error {
		if before, err = work(0); err != nil {
			return err
		}
		if err := r.pg.Stop(ctx, "immediate"); err != nil {
			return err
		}
		if err := r.pg.Start(ctx); err != nil {
			return err
		}
		pool.Reset()
		start := time.Now()
		if err := r.loadRange(ctx, pool, 1, 1); err != nil {
			return err
		}
		if err := r.untilSettled(ctx, pool, r.events+1); err != nil {
			return err
		}
		again = time.Since(start)
		after, err = work(r.events + 1)
		return err
	}
	err = crash()
	if endErr := end(); err == nil {
		err = endErr
	}
	return before, after, again, err
}
