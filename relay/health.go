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
	database outage
	broker   outage
	// ended says that the relay does nothing any more, and over why; nil after a stop.
	ended bool
	over  error
}

// outage is a time during which something cannot be used. The zero value is none.
type outage struct {
	// proven says that it could be used once.
	proven bool
	// failing are those whose last attempt failed, lanes or one of the constants
	// below. The outage is over when there is none: that one of them succeeds says
	// nothing of the others.
	failing map[int16]bool
	since   time.Time
	told    string    // the hint of its last line; "" while it has none, and then its end is not told either
	logged  time.Time // when the last line was logged, of this outage or an earlier one
	period  time.Time // since when lines are counted
	lines   int       // logged since then
	err     error
	hint    string
}

// An outage is logged when it begins, when what can be done about it changes, and each
// period while it goes on. What comes and goes is not logged more often than logBurst
// times in a period.
const (
	logPeriod = time.Minute
	logBurst  = 5
)

// Who, besides the lanes, uses the database or the broker.
const (
	fromProbe   int16 = -1
	fromScout   int16 = -2
	fromSteward int16 = -3
	fromRetrier int16 = -4
)

func newHealth(log *slog.Logger, unready time.Duration) *health {
	return &health{log: log, unready: unready, database: outage{failing: map[int16]bool{}}, broker: outage{failing: map[int16]bool{}}}
}

func (h *health) databaseOK(from int16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.database.proven = true
	h.ok(&h.database, from, "database is back")
}

func (h *health) databaseFailed(from int16, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed(&h.database, from, "waiting for the database", err, databaseHint(err))
}

func (h *health) brokerOK(from int16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broker.proven = true
	h.ok(&h.broker, from, "broker is back")
}

func (h *health) brokerFailed(from int16, f failure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	attrs := []any{"class", f.class}
	if from >= 0 {
		attrs = append(attrs, "lane", from)
	}
	if f.event != nil {
		attrs = append(attrs, "event_id", f.event.ID, "type", f.event.Type)
	}
	h.failed(&h.broker, from, "waiting for the broker: nothing is lost, attempts are not counted", f.err, hint(f.err), attrs...)
}

// idle forgets that somebody could not use the broker, because it has nothing to use it for. It
// proves nothing.
func (h *health) idle(from int16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ok(&h.broker, from, "broker is back")
}

// gone forgets what a lane, or the scout when it has nothing to look for, said. It proves nothing.
func (h *health) gone(from int16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ok(&h.database, from, "database is back")
	h.ok(&h.broker, from, "broker is back")
}

func (h *health) failed(o *outage, from int16, message string, err error, hint string, attrs ...any) {
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	}
	o.failing[from] = true
	o.err, o.hint = err, hint
	if now.Sub(o.period) >= logPeriod {
		o.period, o.lines = now, 0
	}
	if (o.told != hint && o.lines < logBurst) || now.Sub(o.logged) >= logPeriod {
		o.logged, o.told = now, hint
		o.lines++
		attrs = append(attrs, "since", o.since.UTC().Format(time.RFC3339), "error", err, "hint", hint)
		h.log.Warn(message, attrs...)
	}
}

func (h *health) ok(o *outage, from int16, message string) {
	delete(o.failing, from)
	if len(o.failing) > 0 || o.since.IsZero() {
		return
	}
	if o.told != "" {
		h.log.Info(message, "after", time.Since(o.since).Round(time.Millisecond))
	}
	o.since, o.told, o.err, o.hint = time.Time{}, "", nil, ""
}

// NotReadyError says what keeps a relay from its work.
type NotReadyError struct {
	What  string // "database", "broker", "start", or "end" once Run has returned
	Since time.Time
	Err   error
	Hint  string
}

func (e *NotReadyError) Error() string {
	switch {
	case e.What == "end" && e.Err != nil:
		return "the relay ended: " + e.Err.Error()
	case e.What == "end":
		return "the relay ended"
	case e.Err == nil:
		return e.What + ": not done yet"
	}
	return fmt.Sprintf("%s unavailable for %s: %v", e.What, time.Since(e.Since).Round(time.Second), e.Err)
}

// Unwrap returns the cause.
func (e *NotReadyError) Unwrap() error { return e.Err }

// end says that the relay has ended, and why.
func (h *health) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.over = true, err
}

// up says what can be used, as far as its last use told.
func (h *health) up() (database, broker bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.database.since.IsZero(), h.broker.since.IsZero()
}

func (h *health) ready() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return &NotReadyError{What: "end", Err: h.over}
	}
	for _, o := range []struct {
		what string
		*outage
	}{{"database", &h.database}, {"broker", &h.broker}} {
		if !o.since.IsZero() && time.Since(o.since) > h.unready {
			return &NotReadyError{What: o.what, Since: o.since, Err: o.err, Hint: o.hint}
		}
		if !o.proven {
			return &NotReadyError{What: "start", Since: o.since, Err: o.err, Hint: o.hint}
		}
	}
	return nil
}
