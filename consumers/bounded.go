package consumers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Nothing waits without end for what a service gave us: a handler, or a proof, that ignores its context is left to
// itself. Its connection is closed first, so the transaction ends, whoever waits for its facts goes on, and
// it can commit nothing any more.

// attempt is the transaction that is open, as seen by whoever may have to end it from outside.
type attempt struct {
	mu         sync.Mutex
	conn       net.Conn // nil between transactions
	committing bool
	abandoned  bool
}

// errAbandoned keeps what came back too late from the database.
var errAbandoned = errors.New("the transaction was ended because the handler did not come back")

// opens says on which connection a transaction begins.
func (t *attempt) opens(conn net.Conn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.abandoned {
		return errAbandoned
	}
	t.conn = conn
	return nil
}

// commits says that the transaction is about to be committed: from here on nobody ends it from outside.
func (t *attempt) commits() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.abandoned {
		return errAbandoned
	}
	t.committing = true
	return nil
}

// closes says that the transaction has ended, before its connection is given to somebody else.
func (t *attempt) closes() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conn = nil
}

// abandon ends the transaction, unless it is being committed.
func (t *attempt) abandon() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.abandoned = true
	if t.committing {
		return &committedError{Unavailable(errors.New("the proof does not come back although its context has ended"))}
	}
	if t.conn != nil {
		_ = t.conn.Close() // the database ends the transaction of a client that is gone
	}
	return fmt.Errorf("%w: the handler does not come back although its context has ended", ErrTimeout)
}

// errEnded is of a handler that ended its goroutine, as a failed assertion of a test does.
var errEnded = errors.New("the handler ended its goroutine")

// bounded runs transactions, and returns when they are over, or two settle timeouts after ctx has ended: by then
// everything of ours has given up.
func (a *Applier) bounded(ctx context.Context, run func(*attempt) ([]applied, error)) ([]applied, error) {
	type result struct {
		done []applied
		err  error
	}
	t, ended := &attempt{}, make(chan result, 1)
	go func() {
		r := result{err: errEnded}
		defer func() { ended <- r }()
		r.done, r.err = run(t)
	}()
	select {
	case r := <-ended:
		return r.done, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(2 * a.cfg.SettleTimeout)
	defer timer.Stop()
	select {
	case r := <-ended:
		return r.done, r.err
	case <-timer.C:
	}
	err := t.abandon()
	a.stuck.Add(1)
	a.cfg.Logger.ErrorContext(ctx, "a handler or a proof does not come back although its context has ended: it is left to itself, and the event comes again",
		"consumer", a.cfg.Name, "since", a.cfg.HandleTimeout+2*a.cfg.SettleTimeout)
	go func() {
		<-ended
		a.stuck.Add(-1)
	}()
	return nil, err
}
