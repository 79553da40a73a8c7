package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// rig is the servers that every measurement shares.
type rig struct {
	settings
	pg   *harness.Postgres
	nats *harness.NATS
	js   jetstream.JetStream
	nc   *nats.Conn
	// publisher is that of the present run; the relay's default while it is empty.
	publisher relay.PublisherKind

	pgVersion, natsVersion string
	databases, streams     int
	stream                 string // of the present run

	building     sync.Once // guards the fields below
	dir, program string    // of the relay, once it is built
	buildErr     error
}

func newRig(ctx context.Context, cfg settings) (*rig, error) {
	pg, err := harness.StartPostgres(ctx, harness.PostgresOptions{Durable: true, Settings: map[string]string{
		// No checkpoint falls into a run, where it would be charged to the relay.
		"max_wal_size": "8GB", "checkpoint_timeout": "1h",
	}})
	if err != nil {
		return nil, err
	}
	r := &rig{settings: cfg, pg: pg, natsVersion: server.VERSION}
	if r.nats, err = harness.StartNATS(harness.NATSOptions{}); err != nil {
		r.close()
		return nil, err
	}
	if r.nc, err = nats.Connect(r.nats.URL(), relay.NATSOptions("bench")...); err != nil {
		r.close()
		return nil, err
	}
	if r.js, err = jetstream.New(r.nc); err != nil {
		r.close()
		return nil, err
	}
	conn, err := pgx.Connect(ctx, pg.URL("postgres"))
	if err != nil {
		r.close()
		return nil, err
	}
	defer conn.Close(ctx)
	return r, conn.QueryRow(ctx, "SELECT 'Postgres ' || current_setting('server_version')").Scan(&r.pgVersion)
}

func (r *rig) close() {
	if r.nc != nil {
		r.nc.Close()
	}
	if r.nats != nil {
		_ = r.nats.Close() // the process ends next
	}
	_ = r.pg.Close()
	_ = os.RemoveAll(r.dir) // "" removes nothing
}

// freshStream takes the stream of the run before away and makes one with another name: one that is made
// again under its name right after it was deleted may come with its old messages.
func (r *rig) freshStream(ctx context.Context) error {
	if r.stream != "" {
		if err := r.js.DeleteStream(ctx, r.stream); err != nil {
			return fmt.Errorf("delete stream: %w", err)
		}
	}
	r.streams++
	r.stream = fmt.Sprintf("BENCH_%d", r.streams)
	_, err := r.js.CreateStream(ctx, jetstream.StreamConfig{Name: r.stream, Subjects: []string{"events.>"}, Storage: jetstream.FileStorage, AllowBatchPublish: true})
	return err
}

// freshDatabase makes a database with the schema and returns a pool on it. The caller
// closes it with the returned function, which drops the database.
func (r *rig) freshDatabase(ctx context.Context) (*pgxpool.Pool, func(), error) {
	r.databases++
	name := fmt.Sprintf("bench_%d", r.databases)
	if err := r.pg.CreateDatabase(ctx, name, "template1"); err != nil {
		return nil, nil, err
	}
	pool, err := pgxpool.New(ctx, r.pg.URL(name))
	if err != nil {
		return nil, nil, err
	}
	err = pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		return gen.Install(ctx, c.Conn(), canonical.DefaultParams(), canonical.Outbox, canonical.Hold, canonical.Relay,
			canonical.Saga, canonical.Consumer)
	})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return pool, func() {
		pool.Close()
		// Best effort: the cluster is thrown away in the end.
		_ = r.pg.DropDatabase(context.WithoutCancel(ctx), name)
	}, nil
}

// load commits n events, 1,000 to a transaction, with 10,000 keys.
func (r *rig) load(ctx context.Context, pool *pgxpool.Pool, n int) error {
	const each = 1000
	for from := 0; from < n; from += each {
		if err := r.loadRange(ctx, pool, from+1, min(from+each, n)); err != nil {
			return err
		}
	}
	_, err := pool.Exec(ctx, "CHECKPOINT")
	return err
}

// loadRange commits the events of these numbers in one transaction.
func (r *rig) loadRange(ctx context.Context, pool *pgxpool.Pool, first, last int) error {
	_, err := pool.Exec(ctx, `INSERT INTO outbox.event_outbox (event_id, source, type, partition_key, datacontenttype, data)
		SELECT gen_random_uuid()::text, '/bench', 'bench.happened', 'key-' || (i * 7919) % 10000, 'application/json',
		       convert_to('"' || left(repeat(md5(i::text), $3::int / 32 + 1), $3::int - 2) || '"', 'UTF8')
		  FROM generate_series($1::bigint, $2::bigint) AS i`, first, last, r.size)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}

// relayConfig is what every measured relay runs with: the defaults.
func (r *rig) relayConfig() relay.Config {
	return relay.Config{Stream: r.stream, Publisher: r.publisher, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// relayPool makes the pool of a relay on the same database. The caller closes it.
func (r *rig) relayPool(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Pool, error) {
	cfg, err := relay.PoolConfig(pool.Config().ConnString(), 8)
	if err != nil {
		return nil, err
	}
	return pgxpool.NewWithConfig(ctx, cfg)
}

// drain runs a relay until the database has nothing left, and returns how long it took from
// its first look to its last settle.
func (r *rig) drain(ctx context.Context, pool *pgxpool.Pool, n int) (time.Duration, error) {
	already, err := settled(ctx, pool)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	end, err := r.startRelay(ctx, pool, r.relayConfig())
	if err != nil {
		return 0, err
	}
	err = r.untilSettled(ctx, pool, already+n)
	took := time.Since(start)
	if endErr := end(); err == nil {
		err = endErr
	}
	return took, err
}

// startRelay runs a relay in this process until the returned function ends it.
func (r *rig) startRelay(ctx context.Context, pool *pgxpool.Pool, cfg relay.Config) (end func() error, err error) {
	relayPool, err := r.relayPool(ctx, pool)
	if err != nil {
		return nil, err
	}
	re, err := relay.New(relayPool, r.nc, cfg)
	if err != nil {
		relayPool.Close()
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- re.Run(running) }()
	return func() error {
		stop()
		defer relayPool.Close()
		return <-ended
	}, nil
}

// untilSettled waits until n events have been settled.
func (r *rig) untilSettled(ctx context.Context, pool *pgxpool.Pool, n int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := settled(ctx, pool)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || done >= n {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// settled counts the events that relays have settled.
func settled(ctx context.Context, pool *pgxpool.Pool) (n int, err error) {
	err = pool.QueryRow(ctx, "SELECT coalesce(sum(events), 0) FROM outbox.outbox_batch").Scan(&n)
	return n, err
}
