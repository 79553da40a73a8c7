package relay

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// inFlight knows since when each lane has been publishing its batch. While that takes, the same
// ids may be sent again, and only the stream's duplicate window, counted from the first of
// them, takes away what was stored without an answer. Safe for concurrent use.
type inFlight struct {
	mu    sync.Mutex
	since map[*lane]time.Time
}

func (f *inFlight) begin(l *lane) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.since == nil {
		f.since = map[*lane]time.Time{}
	}
	f.since[l] = time.Now()
}

func (f *inFlight) end(l *lane) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.since, l)
}

// oldest returns how long the oldest has been in flight, 0 when there is none.
func (f *inFlight) oldest() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var oldest time.Duration
	for _, since := range f.since {
		oldest = max(oldest, time.Since(since))
	}
	return oldest
}

// streamFacts are what the broker said of the stream when it was asked last. Safe for concurrent
// use.
type streamFacts struct {
	window  atomic.Int64 // of duplicates, in nanoseconds; 0 while it is not known
	missing atomic.Bool  // the server answered, and has no such stream
}

func (s *streamFacts) found(cfg jetstream.StreamConfig) {
	s.window.Store(int64(cfg.Duplicates))
	s.missing.Store(false)
}

// failed notes an answer that was an error: only one that names the stream says that it is missing.
func (s *streamFacts) failed(err error) { s.missing.Store(errors.Is(err, jetstream.ErrStreamNotFound)) }

// windowUsed returns how much of the duplicate window a time takes; known is false while the
// window is not.
func (s *streamFacts) windowUsed(age time.Duration) (used float64, known bool) {
	window := s.window.Load()
	if window <= 0 {
		return 0, false
	}
	return float64(age) / float64(window), true
}
