package retry

import (
	"fmt"
	"math"
	"time"
)

// Policy says how often and when a refused event is tried again.
type Policy struct {
	// MaxRetries is how many retries follow the first attempt, 0 to 1,000,000. With 0 the
	// first refusal is the last.
	MaxRetries int
	// Initial is the pause before the first retry, and doubles with each further one
	// up to Max. Whole milliseconds; Initial is 1 ms at least, Max 7 days at most.
	Initial, Max time.Duration
}

// DefaultPolicy tries again after 250 ms, 500 ms and so on, up to 5 minutes, 12 times in
// all, which takes about 8 minutes.
func DefaultPolicy() Policy {
	return Policy{MaxRetries: 12, Initial: 250 * time.Millisecond, Max: 5 * time.Minute}
}

// Validate reports the first field that is out of bounds, as an [*InvalidError].
func (p Policy) Validate() error {
	switch {
	case p.MaxRetries < 0 || p.MaxRetries > 1_000_000:
		return invalid("policy", "max retries %d: must be 0 to 1000000", p.MaxRetries)
	case p.Initial < time.Millisecond || p.Initial%time.Millisecond != 0:
		return invalid("policy", "initial backoff %s: must be whole milliseconds, 1ms at least", p.Initial)
	case p.Max < p.Initial || p.Max > 7*24*time.Hour || p.Max%time.Millisecond != 0:
		return invalid("policy", "max backoff %s: must be whole milliseconds, %s to 168h", p.Max, p.Initial)
	}
	return nil
}

// Backoff returns the pause after the given number of failed attempts, 1 for the first.
func (p Policy) Backoff(attempts int32) time.Duration {
	pause := p.Initial
	for i := int32(1); i < attempts && pause < p.Max; i++ {
		pause *= 2
	}
	return min(pause, p.Max)
}

// decision is what an outcome means for a row.
type decision struct {
	kind     decisionKind
	attempts int32 // after the outcome
	backoff  time.Duration
}

type decisionKind int

const (
	remove decisionKind = iota
	retryLater
	deadLetter
)

// classify decides on an outcome. It is a pure function of its arguments.
func classify(p Policy, attempts int32, o Outcome) (decision, error) {
	if err := p.Validate(); err != nil {
		return decision{}, err
	}
	switch o.kind {
	case accepted, skipped:
		return decision{kind: remove, attempts: attempts}, nil
	case retryable, permanent:
		if attempts == math.MaxInt32 {
			return decision{}, invalid("attempts", "cannot count beyond %d", attempts)
		}
		next := attempts + 1
		if o.kind == permanent || int(next) > p.MaxRetries {
			return decision{kind: deadLetter, attempts: next}, nil
		}
		return decision{kind: retryLater, attempts: next, backoff: p.Backoff(next)}, nil
	}
	return decision{}, invalid("outcome", "%s is not an outcome", fmt.Sprint(o.kind))
}
