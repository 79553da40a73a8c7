package reconcile_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/reconcile"
)

// TestBesideLiveTraffic compares again and again while a relay publishes and settles, in one pass and
// in several: what is on its way is never taken for missing.
func TestBesideLiveTraffic(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	stop := s.start(func(c *relay.Config) { c.BatchSize = 20 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var staging sync.WaitGroup
	for key := range 3 {
		staging.Go(func() {
			for n := 0; n < 150 && ctx.Err() == nil; n++ {
				s.exec("SELECT outbox.publish_text('/test', 'test.happened', repeat('x', 100), partitionkey => $1) FROM generate_series(1, 30)", fmt.Sprint("key-", key))
			}
		})
	}
	for i := range 12 {
		r := s.reconcile(func(c *reconcile.Config) { c.MaxEntries, c.Skew = 3000+i%2*1_000_000, time.Nanosecond })
		s.wants(r, counts{})
		t.Logf("%d of %d events are settled, %d passes", r.Settled, r.Events, r.Passes)
	}
	cancel()
	staging.Wait()
	stop()
}
