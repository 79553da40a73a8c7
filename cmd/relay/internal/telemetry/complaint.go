package telemetry

import (
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"time"
)

// complaintPeriod is the time between two lines about telemetry that is not delivered.
const complaintPeriod = time.Minute

// complaints logs what the SDK cannot do, once a period: a dead collector has something to say for
// every batch. Safe for concurrent use.
type complaints struct {
	log *slog.Logger

	mu     sync.Mutex
	logged time.Time
	more   int // since then
}

// Handle is called by the SDK.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.logged.IsZero() && time.Since(c.logged) < complaintPeriod {
		c.more++
		return
	}
	c.log.Warn("telemetry is incomplete: the relay goes on without it", "error", safe(err), "more_since_last", c.more)
	c.logged, c.more = time.Now(), 0
}

// safe takes the address out of the error of a request: it may have a credential in it.
func safe(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}
