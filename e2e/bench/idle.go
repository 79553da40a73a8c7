package main

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
)

// measureIdle measures what a relay costs that has nothing to do: processor time as a share of
// one core, WAL, and memory.
func measureIdle(ctx context.Context, r *rig) error {
	cpu := &figure.Figure{Name: "idle_cpu_percent", Unit: "percent"}
	wal := &figure.Figure{Name: "idle_wal_bytes", Unit: "bytes/s"}
	memory := &figure.Figure{Name: "idle_memory_mib", Unit: "MiB"}
	watch := 15 * time.Second
	if r.quick {
		watch = 6 * time.Second
	}
	if err := r.freshStream(ctx); err != nil {
		return err
	}
	pool, drop, err := r.freshDatabase(ctx)
	if err != nil {
		return err
	}
	defer drop()
	relay, err := r.startChild(ctx, pool.Config().ConnString())
	if err != nil {
		return err
	}
	defer relay.Kill()
	// It has drained something, so that everything is warm.
	if err := r.load(ctx, pool, 1000); err != nil {
		return err
	}
	running, stop := whileRunning(ctx, relay)
	defer stop()
	if err := r.untilSettled(running, pool, 1000); err != nil {
		return err
	}
	for i := range r.runs {
		progress("run %d of %d: an idle relay for %s", i+1, r.runs, watch)
		start := time.Now()
		walBefore, err := walPosition(ctx, pool)
		if err != nil {
			return err
		}
		before, err := relay.cpu()
		if err != nil {
			return err
		}
		select {
		case <-time.After(watch):
		case <-ctx.Done():
			return ctx.Err()
		}
		after, err := relay.cpu()
		if err != nil {
			return err
		}
		walAfter, err := walPosition(ctx, pool)
		if err != nil {
			return err
		}
		took := time.Since(start).Seconds()
		cpu.Add(100 * (after - before).Seconds() / took)
		wal.Add((walAfter - walBefore) / took)
		resident, err := relay.memory(memoryNow)
		if err != nil {
			return err
		}
		memory.Add(resident)
	}
	figures{cpu, wal, memory}.print()
	return relay.end()
}
