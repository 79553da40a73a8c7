package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

const (
	producers = 8
	keys      = 12

	// transactionLimit is when a producer gives up, and no longer knows.
	transactionLimit = 15 * time.Second
	// meanStep is the mean pause of a producer between two transactions.
	meanStep = 25 * time.Millisecond

	eventSource = "/chaos"
	eventType   = "chaos.happened"
)

// load is what the producers do.
type load struct {
	seed   uint64
	pool   *pgxpool.Pool // through the producers' proxy
	record *history.Recorder

	mu   sync.Mutex
	open []history.Generation // that nobody decided, in the order of their beginning

	committed, rolledBack, unknown atomic.Int64 // events
}

// run lets the producers work until ctx ends, and returns when the last transaction has.
func (l *load) run(ctx context.Context) {
	var all sync.WaitGroup
	for worker := range producers {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				p := l.producer(worker, n)
				switch dice := p.rng.IntN(100); {
				case dice < 7:
					p.operation(ctx)
				default:
					p.transaction()
				}
				p.pause(ctx, meanStep)
			}
		})
	}
	all.Wait()
}

// producer makes one whose decisions depend on the seed and its numbers alone.
func (l *load) producer(worker, n int) *producer {
	return &producer{load: l, rng: rand.New(rand.NewPCG(l.seed, uint64(worker)<<32|uint64(n)))}
}

// finish releases half of what is still undecided, and leaves the rest held.
func (l *load) finish(ctx context.Context) {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	p := l.producer(producers, 0)
	for i, g := range open {
		if i%2 == 0 {
			p.decide(ctx, g, true)
		}
	}
}

func (l *load) leaveOpen(g history.Generation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, g)
}

// producer does one thing.
type producer struct {
	*load
	rng *rand.Rand
}

func (p *producer) newID() uuid.UUID {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(p.rng.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4
	return id
}

// pause is part of the load.
func (p *producer) pause(ctx context.Context, mean time.Duration) {
	timer := time.NewTimer(time.Duration(p.rng.ExpFloat64() * float64(mean)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

var errChangedMind = errors.New("rolled back on purpose")

// outcome says what the answer of a commit, or its lack, means.
func outcome(err error) history.Outcome {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return history.Failed
	case errors.As(err, &pg) && pg.Severity == "ERROR":
		return history.Failed
	default: // a lost connection, or a session that was ended: before or after the commit
		return history.Unknown
	}
}

// commit runs a transaction. begin is the time before its COMMIT was sent; an outcome other than
// failed needs one that was.
func (p *producer) commit(work func(ctx context.Context, tx pgx.Tx) error) (begin time.Time, result history.Outcome, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), transactionLimit)
	defer cancel()
	tx, err := p.pool.Begin(ctx)
	if err != nil {
		return time.Now(), history.Failed, err
	}
	if err := work(ctx, tx); err != nil {
		_ = tx.Rollback(ctx) // the connection may be gone, and the transaction with it
		return time.Now(), history.Failed, err
	}
	begin = time.Now()
	err = tx.Commit(ctx)
	return begin, outcome(err), err
}

// stage records a transaction that staged events.
func (p *producer) stage(begin time.Time, result history.Outcome, g history.Generation, events []history.Event) {
	if len(events) == 0 {
		return
	}
	switch n := int64(len(events)); result {
	case history.OK:
		p.committed.Add(n)
	case history.Failed:
		p.rolledBack.Add(n)
	default:
		p.unknown.Add(n)
	}
	p.record.Stage(history.Stage{Actor: "producer", Begin: begin, Outcome: result, Held: g, Events: events})
}
