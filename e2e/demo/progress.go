package main

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// showProgress says every second how far things are, until stop is called.
func (d *demo) showProgress(ctx context.Context, reader *history.Follower) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for began := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				published := int64(reader.Distinct())
				d.screen.update("demo: %3.0f s  orders %d/%d  committed %d  published %d  held %d  lag %d", time.Since(began).Seconds(),
					d.tally.orders.Load(), d.orders, d.tally.committed.Load(), published, d.tally.held.Load(), max(0, d.tally.expected()-published))
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
		d.screen.clear()
	}
}
