package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// health knows since when the database and the broker cannot be used, says so once a
// period, and says when it is over. Safe for concurrent use.
type health struct {
	log     *slog.Logger
	unready time.Duration

	mu       sync.Mutex
	started  bool
	database outage
	broker   outage
	// failing are the lanes whose last attempt failed, and probeLane for the probe. The broker's
	// outage is over when it is empty.
	failing map[int16]bool
}

// outage is a time during which something cannot be used. The zero value is none.
type outage struct {
	since  time.Time
	logged time.Time
	err    error
	hint   string
}

// logPeriod is how often an outage that goes on is logged.
const logPeriod = time.Minute

// probeLane stands for the probe of the stream among the failing lanes.
const probeLane int16 = -1

func newHealth(log *slog.Logger, unready time.Duration) *health {
	return &health{log: log, unready: unready, failing: map[int16]bool{}}
}

func (h *health) databaseOK() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started = true
	h.over(&h.database, "database is back")
}

func (h *health) databaseFailed(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed(&h.database, "waiting for the database", err, databaseHint(err))
}

func (h *health) brokerOK(lane int16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failing, lane)
	if len(h.failing) == 0 {
		h.over(&h.broker, "broker is back")
	}
}

// laneGone forgets what a lane said: it is not this pod's any more.
func (h *health) laneGone(lane int16) { h.brokerOK(lane) }

func (h *health) brokerFailed(lane int16, f failure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failing[lane] = true
	attrs := []any{"class", f.class}
	if lane >= 0 {
		attrs = append(attrs, "lane", lane)
	}
	if f.event != nil {
		attrs = append(attrs, "event_id", f.event.ID, "type", f.event.Type)
	}
	message := "waiting for the broker: nothing is lost, attempts are not counted"
	if f.class == Refused {
		message = "the broker refused an event: its lane waits, nothing is lost"
	}
	h.failed(&h.broker, message, f.err, hint(f.err), attrs...)
}

func (h *health) failed(o *outage, message string, err error, hint string, attrs ...any) {
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	}
	o.err, o.hint = err, hint
	if now.Sub(o.logged) >= logPeriod {
		o.logged = now
		attrs = append(attrs, "since", o.since.UTC().Format(time.RFC3339), "error", err, "hint", hint)
		h.log.Warn(message, attrs...)
	}
}

func (h *health) over(o *outage, message string) {
	if !o.since.IsZero() {
		h.log.Info(message, "after", time.Since(o.since).Round(time.Millisecond))
	}
	// logged stays, so that an outage that comes and goes is one line a period as well.
	*o = outage{logged: o.logged}
}

// NotReadyError says what keeps a relay from its work.
type NotReadyError struct {
	What  string // "database", "broker" or "start"
	Since time.Time
	Err   error
	Hint  string
}

func (e *NotReadyError) Error() string {
	if e.Err == nil {
		return e.What + ": not done yet"
	}
	return fmt.Sprintf("%s unavailable for %s: %v", e.What, time.Since(e.Since).Round(time.Second), e.Err)
}

// Unwrap returns the cause.
func (e *NotReadyError) Unwrap() error { return e.Err }

func (h *health) ready() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range []struct {
		what string
		*outage
	}{{"database", &h.database}, {"broker", &h.broker}} {
		if !o.since.IsZero() && time.Since(o.since) > h.unready {
			return &NotReadyError{What: o.what, Since: o.since, Err: o.err, Hint: o.hint}
		}
	}
	if !h.started {
		return &NotReadyError{What: "start", Err: h.database.err, Since: h.database.since, Hint: h.database.hint}
	}
	return nil
}
