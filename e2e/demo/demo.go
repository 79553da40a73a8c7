package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/e2e/demo/check"
	"github.com/holdfast-dev/holdfast/e2e/demo/shop"
	"github.com/holdfast-dev/holdfast/e2e/history"
	"github.com/holdfast-dev/holdfast/relay"
)

// deliveryLimit is how long the relays may take after the last transaction.
const deliveryLimit = 60 * time.Second

// demo is one run.
type demo struct {
	settings
	stdout io.Writer
	screen *screen
	tally  tally

	placing  time.Duration // from the first order to the last
	takeover takeover

	// tamper, if set, gets the servers when all is delivered: how a test makes the
	// checks fail.
	tamper func(ctx context.Context, s *servers) error
}

// takeover is what happened to the lanes of the relay that was killed.
type takeover struct {
	killed, heir, successor string
	lanes                   int
	took                    time.Duration
}

// run is the demo from the first server to the last. It says whether everything that was
// checked is as it must be.
func (d *demo) run(ctx context.Context) (ok bool, err error) {
	began := time.Now()
	d.screen.say("demo: seed %d. Starting Postgres and NATS, building the relay.", d.seed)
	s, err := startServers(ctx, d.screen, d.workers+8)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.applyStream(ctx); err != nil {
		return false, err
	}
	f := &fleet{servers: s}
	defer func() { err = errors.Join(err, f.stop()) }()
	for range 2 {
		if _, err := f.start(); err != nil {
			return false, err
		}
	}
	if err := f.awaitOwners(ctx, readyLimit); err != nil {
		return false, err
	}
	reader, err := check.Read(ctx, s.nats.URL(), stream)
	if err != nil {
		return false, err
	}
	defer reader.Stop()

	if err := d.act(ctx, f, reader); err != nil {
		return false, err
	}
	result, err := d.judge(ctx, f, reader)
	if err != nil {
		return false, err
	}
	result.Seconds = time.Since(began).Seconds()
	if err := d.report(result, f); err != nil {
		return false, err
	}
	if d.serve {
		err = d.keepServing(ctx, f)
	}
	return result.OK(), err
}

// act lets the customers order, kills a relay meanwhile, and waits until everything that
// may leave is in the stream.
func (d *demo) act(ctx context.Context, f *fleet, reader *history.Follower) error {
	stop := d.showProgress(ctx, reader)
	defer stop()
	customers := &traffic{db: f.db, seed: d.seed, tally: &d.tally}
	halfway := make(chan struct{})
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		began := time.Now()
		err := customers.run(groupCtx, d.orders, d.workers, halfway)
		d.placing = time.Since(began)
		return err
	})
	group.Go(func() error {
		select {
		case <-halfway:
			return d.killOne(groupCtx, f)
		case <-groupCtx.Done():
			return nil
		}
	})
	if err := group.Wait(); err != nil {
		return err
	}
	err := d.awaitDelivery(ctx, f, reader)
	if errors.Is(err, errNotInTime) { // the verdict will name what is missing
		d.screen.say("demo: %v", err)
		return nil
	}
	return err
}

// killOne kills a relay, waits until the other one has its lanes, and starts a new one.
func (d *demo) killOne(ctx context.Context, f *fleet) error {
	victim, heir := f.pods[0], f.pods[1]
	lanes, err := f.kill(ctx, victim)
	if err != nil {
		return err
	}
	killed := time.Now()
	d.screen.say("demo: killed %s with SIGKILL; it was draining %d lanes", victim.name, lanes)
	if err := f.awaitOwners(ctx, takeoverLimit); err != nil {
		return err
	}
	took := time.Since(killed)
	successor, err := f.start()
	if err != nil {
		return err
	}
	d.takeover = takeover{killed: victim.name, heir: heir.name, successor: successor.name, lanes: lanes, took: took}
	d.screen.say("demo: %s took its lanes over after %.1f s; started %s", heir.name, took.Seconds(), successor.name)
	return f.awaitOwners(ctx, readyLimit)
}

func (d *demo) awaitDelivery(ctx context.Context, f *fleet, reader *history.Follower) error {
	return until(ctx, deliveryLimit, "everything that may leave is in the stream", func(ctx context.Context) (bool, error) {
		if err := f.check(); err != nil {
			return false, err
		}
		status, err := relay.ReadStatus(ctx, f.db, "outbox", "default")
		if err != nil || status.Backlog > 0 {
			return false, err
		}
		end, err := reader.AtEnd(ctx)
		return end && int64(reader.Distinct()) >= d.tally.expected(), err
	})
}

// judge compares what the services committed with what the stream has.
func (d *demo) judge(ctx context.Context, f *fleet, reader *history.Follower) (*result, error) {
	if d.tamper != nil {
		if err := d.tamper(ctx, f.servers); err != nil {
			return nil, err
		}
		if err := d.awaitDelivery(ctx, f, reader); err != nil {
			return nil, err
		}
	}
	ledger, err := shop.Ledger(ctx, f.db)
	if err != nil {
		return nil, err
	}
	r := &result{
		Verdict: *check.Compare(ledger, reader.Messages()), Seed: d.seed, RelayKills: f.kills,
		Orders: d.tally.orders.Load(), RolledBack: d.tally.rolledBack.Load(), RefusedLateWrites: d.tally.refused.Load(),
	}
	if counted := d.tally.committed.Load(); d.tamper == nil && counted != int64(r.Committed) {
		return nil, fmt.Errorf("the demo itself is wrong: it counted %d events in its transactions, the tables have %d", counted, r.Committed)
	}
	return r, nil
}
