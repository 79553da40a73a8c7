package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/relay"
)

// rig is the servers that every peer shares.
type rig struct {
	pg   *harness.Postgres
	nats *harness.NATS
	nc   *nats.Conn
	js   jetstream.JetStream

	pgVersion, natsVersion string
	databases, streams     int
	stream                 string // of the present run
}

// newRig starts the servers. durable is what a figure needs, and a test does not.
func newRig(ctx context.Context, durable bool) (r *rig, err error) {
	settings := map[string]string{}
	if durable {
		// No checkpoint falls into a run, where it would be charged to a peer.
		settings = map[string]string{"max_wal_size": "8GB", "checkpoint_timeout": "1h"}
	}
	r = &rig{natsVersion: server.VERSION}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.pg, err = harness.StartPostgres(ctx, harness.PostgresOptions{Durable: durable, Settings: settings}); err != nil {
		return r, err
	}
	if r.nats, err = harness.StartNATS(harness.NATSOptions{}); err != nil {
		return r, err
	}
	if r.nc, err = nats.Connect(r.nats.URL(), relay.NATSOptions("peers")...); err != nil {
		return r, err
	}
	if r.js, err = jetstream.New(r.nc); err != nil {
		return r, err
	}
	conn, err := pgx.Connect(ctx, r.pg.URL("postgres"))
	if err != nil {
		return r, err
	}
	err = conn.QueryRow(ctx, "SELECT 'Postgres ' || current_setting('server_version')").Scan(&r.pgVersion)
	return r, errors.Join(err, conn.Close(ctx))
}

func (r *rig) close() error {
	var failed []error
	if r.nc != nil {
		r.nc.Close()
	}
	if r.nats != nil {
		failed = append(failed, r.nats.Close())
	}
	if r.pg != nil {
		failed = append(failed, r.pg.Close())
	}
	return errors.Join(failed...)
}

// result is what one run of a peer gave.
type result struct {
	rate     float64 // events a second
	cpu      float64 // seconds of processor time for 1,000 events; 0 where the system does not tell
	disorder int
}

// run stages the events with a peer, lets it deliver them, and proves that it did.
func (r *rig) run(ctx context.Context, e entrant, events []item) (got result, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute+time.Duration(len(events))*10*time.Millisecond)
	defer cancel()
	if err := r.freshStream(ctx); err != nil {
		return got, err
	}
	pool, drop, err := r.freshDatabase(ctx, e.connections)
	if err != nil {
		return got, err
	}
	defer drop()
	if err := stageAll(ctx, pool, e.peer, events); err != nil {
		return got, fmt.Errorf("stage: %w", err)
	}
	postmaster, err := postmasterOf(ctx, pool)
	if err != nil {
		return got, err
	}
	before := cpuTime(postmaster)
	end, err := e.peer.start(ctx, r, pool)
	if err != nil {
		return got, fmt.Errorf("start: %w", err)
	}
	rate, err := r.untilDelivered(ctx, pool, e.peer, len(events))
	cpu := cpuTime(postmaster) - before
	if err = errors.Join(err, end()); err != nil {
		return got, fmt.Errorf("deliver: %w", err)
	}
	got = result{rate: rate, cpu: cpu.Seconds() / float64(len(events)) * 1000}
	got.disorder, err = r.proof(ctx, events)
	return got, err
}

// freshDatabase makes an empty database and returns a pool on it. The caller closes it with the
// returned function, which drops the database.
func (r *rig) freshDatabase(ctx context.Context, connections int32) (*pgxpool.Pool, func(), error) {
	r.databases++
	name := fmt.Sprintf("peers_%d", r.databases)
	if err := r.pg.CreateDatabase(ctx, name, "template1"); err != nil {
		return nil, nil, err
	}
	cfg, err := pgxpool.ParseConfig(r.pg.URL(name))
	if err != nil {
		return nil, nil, err
	}
	cfg.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	return pool, func() {
		pool.Close()
		// Best effort: the cluster is thrown away in the end.
		_ = r.pg.DropDatabase(context.WithoutCancel(ctx), name)
	}, nil
}

func stageAll(ctx context.Context, pool *pgxpool.Pool, p peer, events []item) error {
	if err := p.install(ctx, pool); err != nil {
		return err
	}
	for from := 0; from < len(events); from += each {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			return p.stage(ctx, tx, events[from:min(from+each, len(events))])
		})
		if err != nil {
			return err
		}
	}
	// Statistics and visibility are those of a database that has been in use.
	if _, err := pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	_, err := pool.Exec(ctx, "CHECKPOINT")
	return err
}

// untilDelivered waits until n events are in the stream and on the peer's record as delivered, and returns
// the rate since the first of them were seen in the stream, so that nobody is charged for its start.
func (r *rig) untilDelivered(ctx context.Context, pool *pgxpool.Pool, p peer, n int) (rate float64, err error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	stored, left, first, since := 0, n, 0, time.Now()
	for {
		if stored < n {
			stored, err = r.stored(ctx)
		}
		if first == 0 && stored > 0 && stored < n {
			first, since = stored, time.Now()
		}
		if err == nil && stored >= n {
			left, err = p.left(ctx, pool, n)
		}
		switch {
		case err != nil && ctx.Err() == nil:
			return 0, err
		case err == nil && stored >= n && left <= 0:
			return float64(n-first) / time.Since(since).Seconds(), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%d of %d events in the stream, %d not on record: %w", stored, n, left, ctx.Err())
		case <-tick.C:
		}
	}
}
