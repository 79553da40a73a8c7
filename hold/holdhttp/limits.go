package holdhttp

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxLimits bounds how many callers are remembered. Services are those of the allow-list;
// operators may be many.
const maxLimits = 1000

// limits gives every caller a rate of its own. Safe for concurrent use.
type limits struct {
	rate  rate.Limit
	burst int

	mu  sync.Mutex // guards all
	all map[string]*rate.Limiter
}

func newLimits(perSecond float64, burst int) *limits {
	return &limits{rate: rate.Limit(perSecond), burst: burst, all: map[string]*rate.Limiter{}}
}

// take returns 0 for a call that may go on, or how long its caller should wait.
func (l *limits) take(caller string) time.Duration {
	reservation := l.of(caller).Reserve()
	wait := reservation.Delay()
	if wait > 0 {
		reservation.Cancel() // who is turned away pays nothing
	}
	return wait
}

func (l *limits) of(caller string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit, known := l.all[caller]; known {
		return limit
	}
	if len(l.all) >= maxLimits {
		for name, limit := range l.all {
			if limit.Tokens() >= float64(l.burst) { // as good as new
				delete(l.all, name)
			}
		}
	}
	limit := rate.NewLimiter(l.rate, l.burst)
	l.all[caller] = limit
	return limit
}
