package relay

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff makes pauses that double from min to max, with jitter, so that pods and lanes that
// failed together do not come back together. It belongs to one goroutine.
type backoff struct {
	min, max time.Duration
	next     time.Duration
}

func (b *backoff) reset() { b.next = 0 }

// step returns the next pause: half of it fixed, half random.
func (b *backoff) step() time.Duration {
	b.next = min(max(b.next*2, b.min), b.max)
	return b.next/2 + rand.N(b.next/2+1)
}

// wait pauses. It returns false at once when ctx ends or stop is closed; stop may be nil.
func (b *backoff) wait(ctx context.Context, stop <-chan struct{}) bool {
	timer := time.NewTimer(b.step())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-stop:
		return false
	}
}
