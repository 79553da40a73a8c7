package round

import (
	"sync"
	"time"
)

// Latest is what was measured last, for whoever collects metrics. It is forgotten when it is old: a
// number that stands still looks like a system that is well. The zero value has nothing. Safe for
// concurrent use.
type Latest[T any] struct {
	mu    sync.Mutex // guards the rest
	value T
	at    time.Time // by the clock of the process, as until
	until time.Time
}

// Keep replaces the value; it is fresh for that long.
func (l *Latest[T]) Keep(value T, fresh time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value, l.at = value, time.Now()
	l.until = l.at.Add(fresh)
}

// Get returns the value and its age, and whether there is one that is fresh.
func (l *Latest[T]) Get() (value T, age time.Duration, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return l.value, now.Sub(l.at), now.Before(l.until)
}
