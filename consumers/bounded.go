package consumers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Nothing waits without end for what a service gave us: a handler, or a proof, that ignores its context is left to
// itself. Its connection is closed first and leaves the pool, so the transaction ends, whoever waits for its
// facts goes on, and it can commit nothing any more.

// attempt is the transaction that is open, as seen by whoever may have to end it from outside.
type attempt struct {
	runs int // of the transaction, so far

	mu         sync.Mutex
	conn       *pgxpool.Conn // nil between transactions
	committing bool
	abandoned  bool
}

// errAbandoned keeps what came back too late from the database.
var errAbandoned = errors.New("the transaction was ended because the handler did not come back")

// opens takes the connection of a transaction that is to begin.
func (t *attempt) opens(conn *pgxpool.Conn) (*pgx.Conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.abandoned {
		conn.Release()
		return nil, errAbandoned
	}
	t.conn, t.committing = conn, false
	return conn.Conn(), nil
}

// commits says that the transaction is about to be committed: its outcome is that of the database from here on. ctx
// was its time.
func (t *attempt) commits(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.abandoned {
		return errAbandoned
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t.committing = true
	return nil
}

// closes gives the connection back after the transaction, or closes it when it is the pool's no more.
func (t *attempt) closes(conn *pgx.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.abandoned {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(closing) // there is nobody on the other side
		return
	}
	t.conn.Release()
	t.conn = nil
}

// abandon ends the transaction. What was about to be committed had its time: nobody knows.
func (t *attempt) abandon() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.abandoned = true
	if t.conn != nil {
		_ = t.conn.Conn().PgConn().Conn().Close() // the database ends the transaction of a client that is gone
		t.conn.Hijack()
	}
	if t.committing {
		return &committedError{Unavailable(errors.New("the proof does not come back although its context has ended"))}
	}
	return fmt.Errorf("%w: the handler does not come back although its context has ended", ErrTimeout)
}

// errEnded is of a handler that ended its goroutine, as a failed assertion of a test does.
var errEnded = errors.New("the handler ended its goroutine")

// bounded runs transactions, and returns when they are over, or two settle timeouts after ctx has ended: by then
// everything of ours has given up.
func (a *Applier) bounded(ctx context.Context, t *attempt, run func() ([]applied, error)) ([]applied, error) {
	type result struct {
		done []applied
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		r := result{err: errEnded}
		defer func() { ended <- r }()
		r.done, r.err = run()
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

// sick reports whether so many handlers hang that it is not for their events: as many as one event may have attempts, and
// all workers beside. Events are given back then, and nothing is counted.
func (a *Applier) sick() bool { return a.stuck.Load() >= int64(a.cfg.Attempts+a.cfg.Concurrency) }
