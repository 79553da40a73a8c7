package relay

import (
	"context"
	"errors"
	"time"
)

// lane is a lane that this pod owns.
type lane struct {
	number int16
	token  string // of this claim, a UUID; as text it passes in every query mode of pgx
	// incarnation is that of the server when the lane was claimed. Snapshots of another
	// one say nothing about this cursor, nor it about them.
	incarnation string

	// ctx ends when the lane is lost, handed back or cut.
	ctx    context.Context
	cancel context.CancelCauseFunc

	// cur is how far the lane is drained. It belongs to the goroutine that drains the lane
	// while busy, and to the scout, under Relay.mu, otherwise.
	cur cursor
	// busy, under Relay.mu: a goroutine drains the lane.
	busy bool
	// leaving, under Relay.mu: the pod has more than its share, and this lane goes back
	// after its present round.
	leaving bool
	// unclean, under Relay.mu: something may be in flight that no settle covers, so
	// the lane is left to its lease and not handed back.
	unclean bool
	// stored, under Relay.mu: the drained snapshot that the database has.
	stored string
	// validUntil, under Relay.mu: until when this pod may trust its lease, counted from
	// before the statement that took or renewed it was sent.
	validUntil time.Time

	// limit is how many events a batch takes; it shrinks when events are large.
	// Only the goroutine that drains the lane uses it.
	limit int
	// behind is where to look for what a previous owner published and did not settle; nil
	// after a clean hand-back, and once the lane has been drained past it. It belongs to
	// whom cur belongs to.
	behind *lookBack
	// next is the page that is read while a batch is published. Only the goroutine that drains the lane
	// uses it.
	next *prefetch
	// mayBlock says that events of the lane may be waiting for a retry, so that the keys of a
	// batch have to be compared with theirs. Only the lane's owner adds such events.
	mayBlock bool
}

var (
	// errLaneLost is the cause of the end of a lane whose lease is gone.
	errLaneLost = errors.New("its lease ended or another pod has it")
	// errServerChanged is the cause of the end of a lane whose cursor in memory is worth
	// nothing any more: the server crashed and recovered, or another one took over.
	errServerChanged = errors.New("the database server restarted or another one took over")
)

// drain publishes what a lane has until it has nothing more or the relay stops. It owns
// the lane's cursor while it runs.
func (r *Relay) drain(soft context.Context, l *lane) {
	pause := backoff{min: r.cfg.RetryMin, max: r.cfg.RetryMax}
	for soft.Err() == nil && l.ctx.Err() == nil {
		more, err := r.round(soft, l)
		if err != nil {
			if l.ctx.Err() != nil || soft.Err() != nil {
				break
			}
			r.health.databaseFailed(l.number, err)
			if !pause.wait(l.ctx, soft.Done()) {
				break
			}
			continue
		}
		pause.reset()
		if !more || r.isLeaving(l) {
			break
		}
	}
	l.dropNext() // while the lane is this goroutine's
	r.mu.Lock()
	l.busy = false
	gone := r.lanes[l.number] != l
	r.mu.Unlock()
	if gone {
		r.health.gone(l.number) // what it said after it was lost
	}
	r.wake()
}

func (r *Relay) isLeaving(l *lane) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return l.leaving
}

// round reads, publishes and settles one batch. more says that another round is worth its
// read. An error is one of the database; the round can be repeated.
func (r *Relay) round(soft context.Context, l *lane) (more bool, err error) {
	if !r.acquireWorker(l.ctx, soft) {
		return false, nil
	}
	start := time.Now()
	b, err := r.take(l.ctx, l)
	if errors.Is(err, errServerChanged) {
		r.releaseWorker()
		r.forget(l)
		return false, nil
	}
	if err != nil {
		r.releaseWorker()
		return false, err
	}
	r.health.databaseOK(l.number)
	r.metrics.wasRead(l.ctx, time.Since(start))
	if b == nil {
		r.releaseWorker()
		return false, nil
	}
	if err := r.park(l.ctx, l, b); err != nil {
		r.releaseWorker()
		return false, err
	}
	r.readAhead(l, b)
	if !r.publish(soft, l, b) {
		return false, nil // its slot is free already
	}
	defer r.releaseWorker()
	if err := r.settleUntilKnown(l, b); err != nil {
		return false, err
	}
	return b.more || len(b.events) >= r.cfg.BatchSize/16, nil
}

// publish repeats attempts until no event of the batch is open. It returns false, without
// a worker slot, when the lane or the relay ended first. While it pauses it holds no slot.
func (r *Relay) publish(soft context.Context, l *lane, b *batch) bool {
	if len(b.events) == 0 {
		return true // the end of a backlog: there is only a cursor to move
	}
	r.inFlight.begin(l)
	defer r.inFlight.end(l)
	pause := backoff{min: r.cfg.RetryMin, max: r.cfg.RetryMax}
	for {
		before := b.stored()
		fail := r.attempt(l, b)
		if fail.class == "" {
			r.health.brokerOK(l.number)
			return true
		}
		r.releaseWorker()
		r.setUnclean(l, true)
		if l.ctx.Err() != nil {
			return false
		}
		r.health.brokerFailed(l.number, r.explain(l.ctx, fail))
		if b.stored() > before {
			pause.reset() // some got through: the broker is there
		}
		if !pause.wait(l.ctx, soft.Done()) || !r.acquireWorker(l.ctx, soft) {
			return false
		}
	}
}

// attempt publishes what is open of a batch, after a look at what a previous owner had published.
func (r *Relay) attempt(l *lane, b *batch) failure {
	if l.behind != nil {
		b.again = true
		found, err := l.behind.mark(l.ctx, r, b)
		if errors.Is(err, errServerChanged) {
			r.forget(l)
		}
		if err != nil {
			return failure{class: Unavailable, err: err}
		}
		if found > 0 {
			r.log.Info("found events that a previous owner published", "lane", l.number, "events", found)
		}
	}
	if !b.again {
		b.floor = r.known.last() + 1
	}
	fail := r.send(l.ctx, l.number, b)
	b.again = true
	if _, last := b.streamRange(); last > 0 {
		r.known.advance(last)
	}
	return fail
}

// settleUntilKnown settles a published batch. A settle that fails, or whose outcome is unknown,
// is repeated for as long as the lane is this pod's: repeating it is harmless, and
// giving up would publish the batch again.
func (r *Relay) settleUntilKnown(l *lane, b *batch) error {
	pause := backoff{min: r.cfg.RetryMin, max: r.cfg.RetryMax}
	for {
		start := time.Now()
		owned, err := r.settle(l.ctx, l, b)
		if err == nil && !owned {
			r.lose(errLaneLost, l)
			r.abandon(l) // it is ours still when the server changed
			return nil
		}
		if err == nil {
			r.metrics.settled(l.ctx, l.number, time.Since(start))
			l.cur = b.after
			if l.cur.target == "" {
				l.behind = nil // drained past everything that a previous owner could have published
			}
			r.refusals(l, b)
			r.mu.Lock()
			l.stored = b.after.drained
			l.unclean = false
			r.mu.Unlock()
			r.health.databaseOK(l.number)
			return nil
		}
		if l.ctx.Err() == nil {
			r.metrics.settleFailed(l.ctx)
		}
		r.health.databaseFailed(l.number, err)
		if !pause.wait(l.ctx, nil) {
			r.setUnclean(l, true)
			return err
		}
	}
}

// lose drops lanes that are not this pod's any more, and all that is known of them.
func (r *Relay) lose(cause error, lanes ...*lane) {
	lost := 0
	for _, l := range lanes {
		r.mu.Lock()
		if r.lanes[l.number] == l {
			delete(r.lanes, l.number)
			lost++
		}
		r.mu.Unlock()
		l.cancel(cause)
		r.health.gone(l.number)
	}
	if lost > 0 {
		r.metrics.changed(context.Background(), lost, laneLost)
		r.log.Warn("lanes lost", "lanes", lost, "error", cause)
	}
}

// forget drops lanes whose cursor in memory is older than the server, and lets them be
// claimed again with the cursor that is stored.
func (r *Relay) forget(lanes ...*lane) {
	r.lose(errServerChanged, lanes...)
	r.abandon(lanes...)
}

// abandon ends the leases of lanes that were dropped, as far as they are this pod's still.
func (r *Relay) abandon(lanes ...*lane) {
	// Detached: the contexts of the lanes have ended.
	ctx, cancel := context.WithTimeout(context.Background(), r.cfg.Lease/2)
	defer cancel()
	numbers, tokens := claimsOf(lanes)
	if err := r.db.abandon(ctx, r.cfg.Group, numbers, tokens); err != nil {
		r.log.Warn("abandon lanes: their leases will end by themselves", "lanes", len(lanes), "error", err)
	}
}

func (r *Relay) setUnclean(l *lane, unclean bool) {
	r.mu.Lock()
	l.unclean = unclean
	r.mu.Unlock()
}

// acquireWorker takes a worker slot, or returns false when the lane or the relay ends first.
func (r *Relay) acquireWorker(ctx, soft context.Context) bool {
	select {
	case r.workers <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	case <-soft.Done():
		return false
	}
}

func (r *Relay) releaseWorker() { <-r.workers }

// wake makes the scout look now.
func (r *Relay) wake() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}
