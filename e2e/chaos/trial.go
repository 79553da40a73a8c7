package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/history"
)

const (
	readyLimit = 3 * time.Minute // for relays to own all lanes at the beginning
	pollEvery  = 50 * time.Millisecond
	safeWindow = time.Minute // with a shorter one a relay has to be told that it is meant
)

// trial is one run of one set-up.
type trial struct {
	settings
	setup  setup
	length time.Duration
	log    io.Writer

	servers  *servers
	record   *history.Recorder
	slots    []*slot
	eaters   []*eater
	entrance *fault.PostgresProxy // of the producers
	load     *load

	// Resources that only one fault can have at a time.
	postgres, nodes sync.Mutex

	// What became of the repair after rollbacks, and what was wrong with it.
	repaired int
	unmended []string

	mu     sync.Mutex   // guards the fields below
	hits   map[Kind]int // faults that took effect
	broken error        // why nothing can be judged
}

// run is the trial from the first server to the verdict, which goes into the result.
func (t *trial) run(ctx context.Context, r *result) (err error) {
	began := time.Now()
	t.record, t.hits = &history.Recorder{}, map[Kind]int{}
	t.say("seed %d, %s; starting the servers and building the relay", t.seed, t.length)
	if t.servers, err = startServers(ctx, t); err != nil {
		return err
	}
	keep := true
	defer func() {
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w; the logs are in %s", err, t.servers.dir)
		}
		err = errors.Join(err, t.servers.close(keep && ctx.Err() == nil))
	}()
	defer func() { err = errors.Join(err, t.closeSlots()) }()
	if err := t.prepare(ctx); err != nil {
		return err
	}
	follower, err := history.Follow(ctx, t.servers.source())
	if err != nil {
		return err
	}
	stopFollower := sync.OnceValue(follower.Stop)
	defer stopFollower()

	t.say("%d relays own the lanes; %s of load and faults", relays, t.length)
	t.breakThings(ctx)
	if err := errors.Join(ctx.Err(), t.broken); err != nil {
		return err
	}
	h, err := t.heal(ctx)
	if err != nil {
		return err
	}
	h.Reads = stopFollower()
	v, err := t.judge(ctx, h)
	if err != nil {
		return err
	}
	keep = !v.OK
	v.Seconds = time.Since(began).Seconds()
	r.add(t, v)
	t.report(v)
	return nil
}

func (t *trial) say(format string, args ...any) {
	fmt.Fprintf(t.log, "chaos: %s: %s\n", t.setup, fmt.Sprintf(format, args...))
}

// prepare makes the proxies and starts the relays.
func (t *trial) prepare(ctx context.Context) (err error) {
	if t.entrance, err = fault.NewPostgresProxy(t.servers.pg.URL(database)); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(t.seed, 1<<40+t.setup.stream()))
	for i := range relays {
		s, err := newSlot(i, t.seed, t.servers, 1<<rng.IntN(8), t.record)
		if err != nil {
			return err
		}
		t.slots = append(t.slots, s)
		if t.window < safeWindow {
			s.allow = "dedup-window"
		}
		if err := s.start(); err != nil {
			return err
		}
	}
	if err := t.startEaters(); err != nil {
		return err
	}
	if t.load, err = t.newLoad(ctx); err != nil {
		return err
	}
	var failed error
	err = t.until(ctx, readyLimit, "the relays own all lanes", func(ctx context.Context) (bool, error) {
		for _, s := range t.slots {
			failed = errors.Join(failed, s.failed())
		}
		n, err := t.count(ctx, unownedSQL)
		return n == 0 || failed != nil, err
	})
	return errors.Join(err, failed)
}

func (t *trial) newLoad(ctx context.Context) (*load, error) {
	url, err := t.entrance.URL(t.servers.pg.URL(database), "application_name", producerName)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = producers + 2
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &load{seed: t.seed, pool: pool, record: t.record}, nil
}

const producerName = "producer"

// breakThings runs load and faults until the time is over and every fault has ended.
func (t *trial) breakThings(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, t.length)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { t.load.run(ctx) })
	began := time.Now()
	for _, step := range plan(t.seed, t.setup, t.length, t.kinds()) {
		if !sleep(ctx, time.Until(began.Add(step.At))) {
			break
		}
		if t.verbose {
			t.say("%s", step)
		}
		all.Go(func() { t.perform(ctx, step) })
	}
	<-ctx.Done()
	all.Wait()
}

// heal makes everything whole again, waits until all is delivered, and returns the record
// so far.
func (t *trial) heal(ctx context.Context) (*history.History, error) {
	if err := t.makeWhole(ctx); err != nil {
		return nil, err
	}
	finish, cancel := context.WithTimeout(ctx, readyLimit)
	t.load.finish(finish)
	cancel()
	// No transaction of a producer may end later than the record.
	t.load.pool.Close()
	if err := t.until(ctx, readyLimit, "the sessions of the producers end", func(ctx context.Context) (bool, error) {
		n, err := t.count(ctx, terminateSQL, producerName)
		return n == 0, err
	}); err != nil {
		return nil, err
	}
	healed := time.Now()
	t.say("the faults are over; waiting until all is delivered")
	drained, err := t.awaitDrained(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.repair(ctx); err != nil {
		return nil, err
	}
	if err := t.awaitConsumed(ctx); err != nil {
		return nil, err
	}
	h := t.record.History()
	h.Limits.Window, h.Limits.Skew = t.window, time.Millisecond
	h.Limits.Healed, h.Limits.Drained, h.Limits.Within = healed, drained, patience*t.within
	return h, nil
}

// patience is how many times t.within everything may take, if it goes on.
const patience = 10

// awaitDrained waits until everything is settled, and returns when it was. As long as ever less waits, a
// busy machine may take its time. The time is zero if there was no progress for t.within, or if
// it took all patience.
func (t *trial) awaitDrained(ctx context.Context) (time.Time, error) {
	least, progress := math.MaxInt, time.Now()
	stalled := false
	err := t.until(ctx, patience*t.within, "everything is settled", func(ctx context.Context) (bool, error) {
		n, err := t.count(ctx, backlogSQL)
		if err == nil && n < least {
			least, progress = n, time.Now()
		}
		stalled = time.Since(progress) > t.within
		return err == nil && n == 0 || stalled, err
	})
	switch {
	case errors.Is(err, errNotInTime), err == nil && stalled && least > 0:
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	}
	return time.Now(), nil
}

// makeWhole starts what does not run and waits until the servers can do their work.
func (t *trial) makeWhole(ctx context.Context) error {
	start, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	if err := t.servers.pg.Start(start); err != nil {
		return err
	}
	for _, node := range t.servers.nodes.Nodes {
		if err := node.Start(); err != nil {
			return err
		}
	}
	for _, s := range t.slots {
		s.check()
		if !s.process().Running() {
			if err := s.start(); err != nil {
				return err
			}
		}
	}
	for _, e := range t.eaters {
		if !e.process().Running() {
			e.unwanted()
			if err := e.start(); err != nil {
				return err
			}
		}
	}
	if err := t.servers.nodes.AwaitJetStream(ctx); err != nil {
		return err
	}
	if t.setup == cluster {
		return t.servers.nodes.AwaitStream(ctx, streamName)
	}
	return nil
}

// count returns the one number of a statement.
func (t *trial) count(ctx context.Context, sql string, args ...any) (n int, err error) {
	return n, t.servers.db.QueryRow(ctx, sql, args...).Scan(&n)
}

func (t *trial) closeSlots() error {
	var errs []error
	if t.load != nil {
		t.load.pool.Close()
	}
	for _, s := range t.slots {
		errs = append(errs, s.close())
	}
	for _, e := range t.eaters {
		errs = append(errs, e.close())
	}
	if t.entrance != nil {
		errs = append(errs, t.entrance.Close())
	}
	return errors.Join(errs...)
}

// errNotInTime is what until returns when its limit is over.
var errNotInTime = errors.New("not in time")

// until looks at a condition until it holds. A look that fails is repeated.
func (t *trial) until(ctx context.Context, limit time.Duration, what string, condition func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w, after %s", errNotInTime, limit))
	defer cancel()
	for {
		done, err := condition(ctx)
		if err == nil && done {
			return nil
		}
		if !sleep(ctx, pollEvery) {
			return errors.Join(fmt.Errorf("wait until %s: %w", what, context.Cause(ctx)), err)
		}
	}
}

// sleep returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
