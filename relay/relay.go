package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

// Relay drains the outbox of one database to one stream. Create it with [New], run it
// with [Relay.Run]. All methods are safe for concurrent use.
type Relay struct {
	cfg     Config
	log     *slog.Logger
	db      *database
	control *database // connections of its own, so that a full pool cannot starve the leases
	pub     publisher // fast, after what its user admits
	fast    *fastPublisher
	js      jetstream.JetStream
	health  *health
	metrics *metrics
	meter   metric.Meter
	tracer  trace.Tracer

	// inFlight are the lanes that publish a batch; measured is what the database had last.
	inFlight inFlight
	measured measurements
	// stream is what the broker said last of the stream.
	stream streamFacts

	// retries are the events that wait after a refusal, and the dead letters.
	retries *retry.Store
	// known is how far the stream is known to go.
	known streamEnd

	// workers limits how many lanes read or publish at the same time.
	workers chan struct{}
	// paging is held while the start of a backlog is looked for. Each look visits most pages of the log:
	// one after the other they find them in the cache, side by side they push each other's out. Capacity 1; never closed.
	paging chan struct{}
	// kick wakes the scout before its pause is over. Capacity 1; never closed.
	kick chan struct{}
	// woken says that a producer has said so. Capacity 1; never closed.
	woken chan struct{}

	// mu guards lanes and the fields of each lane that its comment names.
	mu    sync.Mutex
	lanes map[int16]*lane
	// draining counts the goroutines that drain a lane.
	draining sync.WaitGroup
	// broken takes the death of a goroutine that drains a lane. Capacity 1; never closed.
	broken chan *PartError
}

// publisher puts a batch into the stream. See [asyncPublisher.attempt] for the contract.
type publisher interface {
	attempt(ctx context.Context, b *batch) failure
}

// New prepares a relay over a pool and a connection, which stay the caller's to close.
// Make them with [PoolConfig] and [NATSOptions]; others may buffer, reorder or give up.
// It returns a [*ConfigError] for settings that cannot work, and connects to nothing.
func New(pool *pgxpool.Pool, nc *nats.Conn, cfg Config) (*Relay, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	async, err := newAsyncPublisher(nc, cfg)
	if err != nil {
		return nil, err
	}
	meter := cfg.MeterProvider.Meter(instrumentation, metric.WithInstrumentationVersion(cfg.Version))
	m, err := newMetrics(meter)
	if err != nil {
		return nil, fmt.Errorf("new relay: %w", err)
	}
	store, err := retry.New(pool, retry.Config{Schema: cfg.Schema, Group: cfg.Group, Policy: cfg.Retry, DeadLetterBlocksKey: cfg.DeadLetterBlocksKey})
	if err != nil {
		return nil, &ConfigError{Problems: []string{"retry " + err.Error()}}
	}
	st := newStatements(cfg.Schema)
	log := cfg.Logger.With("group", cfg.Group, "owner", cfg.Owner)
	fast := newFastPublisher(async, cfg.Publisher, min(cfg.AckTimeout, cfg.StopTimeout), log)
	return &Relay{
		cfg: cfg, log: log, js: async.js, metrics: m, meter: meter,
		tracer:  cfg.TracerProvider.Tracer(instrumentation, trace.WithInstrumentationVersion(cfg.Version)),
		db:      &database{pool: pool, sql: st},
		control: &database{sql: st},
		pub:     admission(fast, cfg),
		fast:    fast,
		retries: store,
		health:  newHealth(log, cfg.UnreadyAfter),
		workers: make(chan struct{}, cfg.Workers),
		paging:  make(chan struct{}, 1),
		kick:    make(chan struct{}, 1),
		woken:   make(chan struct{}, 1),
		broken:  make(chan *PartError, 1),
		lanes:   map[int16]*lane{},
	}, nil
}

// errStopping is the cause of the end of everything that a stop cuts.
var errStopping = errors.New("the relay is stopping")

// Run drains until ctx ends, then stops in two phases: it claims and reads nothing more and
// lets batches in flight finish for StopTimeout at most; what is left then is cut, and
// will be published again by the next owner of its lane. Lanes are handed back. It
// returns nil after a stop, and an error only for what no waiting mends: a schema that
// this build does not know, another cluster's database, a role without rights, or a part of the
// relay that died ([*PartError]). [outbox.Hint] says what to do about it. Call it once.
func (r *Relay) Run(ctx context.Context) (err error) {
	defer func() { r.health.end(err) }()
	controlPool, err := r.openControl(ctx)
	if err != nil {
		return err
	}
	defer closeSoon(controlPool, r.cfg.StopTimeout)
	r.control.pool = controlPool
	unregister, err := r.registerGauges()
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	defer unregister()

	if err := r.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	r.log.Info("relay started", "stream", r.cfg.Stream, "version", r.cfg.Version, "lease", r.cfg.Lease)

	// hard outlives ctx: it ends when the second phase of the stop is over.
	hard, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(errStopping)
	group, soft := errgroup.WithContext(ctx)
	for name, run := range map[string]func() error{
		"scout":   func() error { return r.scout(soft) },
		"steward": func() error { return r.steward(soft, hard) },
		"probe":   func() error { return r.probe(soft) },
		"wake-up": func() error { return r.subscribe(soft) },
		"listen":  func() error { return r.listen(soft) },
		"measure": func() error { return r.measure(soft) },
	} {
		group.Go(func() error { return part(soft, name, run) })
	}
	group.Go(func() error { return r.watchDrains(soft) })
	// The retrier finishes what it has claimed beside the second phase of the stop.
	retried := make(chan error, 1)
	group.Go(func() error {
		go func() { retried <- part(soft, "retry", func() error { return r.retry(soft) }) }()
		select {
		case err := <-retried:
			retried <- nil
			return err
		case <-soft.Done():
			return nil
		}
	})
	err = group.Wait()

	r.stop(hard, cut)
	err = errors.Join(err, <-retried)
	r.fast.waiting.Wait() // until StopTimeout after the beginning of the stop, see fastPublisher.wait
	err = r.brokenAtLast(err)
	if died := (*PartError)(nil); errors.As(err, &died) {
		r.log.Error("a part of the relay died", "part", died.Part, "error", died.Err, "stack", died.Stack)
	}
	r.log.Info("relay stopped", "error", err)
	return err
}

// openControl makes the pool of the steward: the same database, one connection at a time. It
// may have more, because a dead one occupies its place until it is closed, which may take
// longer than a lease.
func (r *Relay) openControl(ctx context.Context) (*pgxpool.Pool, error) {
	cfg := r.db.pool.Config()
	cfg.MaxConns = 4
	cfg.MinConns, cfg.MinIdleConns = 0, 0
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open control connection: %w", err)
	}
	return pool, nil
}

// start waits for the database, checks that it is one that this build may drain, and gives the
// group its lanes. It retries what waiting can mend.
func (r *Relay) start(ctx context.Context) error {
	pause := backoff{min: r.cfg.RetryMin, max: r.cfg.RetryMax}
	for {
		err := r.check(ctx)
		if err == nil {
			r.health.databaseOK(fromSteward)
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		if permanent(err) {
			return withHint(err)
		}
		r.health.databaseFailed(fromSteward, err)
		if !pause.wait(ctx, nil) {
			return ctx.Err()
		}
	}
}

func (r *Relay) check(ctx context.Context) error {
	// A pooler lets everybody in, and answers nothing while its server is down.
	ctx, done := r.soon(ctx)
	defer done()
	if err := verify(ctx, r.db.pool, r.cfg.Schema); err != nil {
		return err
	}
	if _, err := r.db.pool.Exec(ctx, r.db.sql.join, r.cfg.Group); err != nil {
		return fmt.Errorf("join group %s: %w", r.cfg.Group, r.db.checked(err))
	}
	if _, err := r.db.pool.Exec(ctx, r.db.sql.forget); err != nil {
		return fmt.Errorf("forget dead pods: %w", r.db.checked(err))
	}
	return nil
}

// stop is the second phase: wait for batches in flight, cut the rest, hand the lanes back.
func (r *Relay) stop(hard context.Context, cut context.CancelCauseFunc) {
	finished := make(chan struct{})
	go func() {
		r.draining.Wait()
		close(finished)
	}()
	waiting, done := context.WithTimeout(hard, r.cfg.StopTimeout)
	defer done()
	renew := time.NewTicker(r.cfg.Lease / 3)
	defer renew.Stop()
	for drained := false; !drained; {
		select {
		case <-finished:
			drained = true
		case <-renew.C:
			// The steward is gone, and what is in flight may take longer than a lease.
			if _, err := r.renew(waiting); err != nil {
				r.health.databaseFailed(fromSteward, err)
			}
			r.dropExpired()
		case <-waiting.Done():
			r.log.Warn("stop timeout: cutting batches in flight", "timeout", r.cfg.StopTimeout)
			cut(errStopping)
			<-finished
			drained = true
		}
	}
	// Detached from every context of the run: it must be tried even after a cut.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(hard), r.cfg.Lease/2)
	defer cancel()
	r.handBackAll(ctx)
}

// Ready returns nil while the relay can do its work, and otherwise an error that says
// since when it cannot and why.
func (r *Relay) Ready() error { return r.health.ready() }

// Owner returns the name under which this pod owns lanes.
func (r *Relay) Owner() string { return r.cfg.Owner }

func randomText(n int) string { return rand.Text()[:n] }
