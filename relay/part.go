package relay

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// PartError is returned by [Relay.Run] when a part of the relay died, which is a bug: the others
// were stopped in order, so that no part is missing in silence. What the part held at that
// moment is lost with it, such as a connection that was taken out of the pool, so do
// not wait for the pool to be closed. The lane of a drain is left to its lease.
type PartError struct {
	Part  string // "scout", "steward", "probe", "retry", "wake-up", "listen", or "drain lane N"
	Err   error
	Stack string // of a panic; "" for a part that ended by itself
}

func (e *PartError) Error() string { return "part " + e.Part + " of the relay died: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PartError) Unwrap() error { return e.Err }

// Hint says what a person can do.
func (e *PartError) Hint() string {
	return "a bug: report it with the log; what started this process should start it again"
}

// errEnded is the cause of a part that returned although nobody stopped it.
var errEnded = errors.New("it ended by itself")

// part runs one of the goroutines that live as long as the relay, and makes an error of any
// other end than the one that ctx asks for.
func part(ctx context.Context, name string, run func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(name, v)
		}
	}()
	switch err := run(); {
	case refusal(err):
		return err // nothing died: only a person can mend it, and the error says how
	case err != nil:
		return &PartError{Part: name, Err: err}
	case ctx.Err() == nil:
		return &PartError{Part: name, Err: errEnded}
	}
	return nil
}

func panicked(name string, v any) *PartError {
	err, ok := v.(error)
	if !ok {
		err = fmt.Errorf("%v", v)
	}
	return &PartError{Part: name, Err: fmt.Errorf("panic: %w", err), Stack: string(debug.Stack())}
}

// drainPart drains a lane. A panic ends the relay; its lane counts as busy for ever, so
// that nobody hands it back, or drains it with what is known of it.
func (r *Relay) drainPart(soft context.Context, l *lane) {
	defer r.draining.Done()
	defer func() {
		if v := recover(); v != nil {
			r.breakDown(panicked(fmt.Sprintf("drain lane %d", l.number), v))
		}
	}()
	r.drain(soft, l)
}

// breakDown ends the relay with an error. Of several the first counts.
func (r *Relay) breakDown(err *PartError) {
	select {
	case r.broken <- err:
	default:
	}
}

// watchDrains ends with the death of a drain.
func (r *Relay) watchDrains(soft context.Context) error {
	select {
	case err := <-r.broken:
		return err
	case <-soft.Done():
		return nil
	}
}

// brokenAtLast adds the death of a drain that the stop met.
func (r *Relay) brokenAtLast(err error) error {
	select {
	case late := <-r.broken:
		return errors.Join(err, late)
	default:
		return err
	}
}

// closeSoon closes a pool, and does not wait for a connection that a part took to its grave.
func closeSoon(pool *pgxpool.Pool, limit time.Duration) {
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}
