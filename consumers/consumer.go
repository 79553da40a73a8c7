package consumers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
)

// Consumer hands the messages of one durable consumer to a handler. Create it with [New], run it
// with [Consumer.Run]. Run as many as there are pods.
type Consumer struct {
	cfg     Config
	log     *slog.Logger
	pool    *pgxpool.Pool
	js      jetstream.JetStream
	applier *Applier
	sql     statements
	metrics *metrics
	tracer  trace.Tracer

	held   *held
	keys   *keys       // of the run
	paused atomic.Bool // as it was read last
	// arrived is when a message came last, in nanoseconds since began; or when the watchdog asked anew.
	arrived atomic.Int64
	// settled is when a message was settled last, in the same way.
	settled atomic.Int64
	began   time.Time
	// renew ends the request for messages that is open, so that the next one is made with a
	// consumer that was looked up anew. Capacity 1; never closed.
	renew chan struct{}
	// refused takes why the consumer has to stop. Capacity 1; never closed.
	refused chan error
}

// New prepares a consumer over a pool and a connection, which stay the caller's to close. The pool
// should have Concurrency+2 connections at least; the NATS connection should reconnect for ever
// (nats.MaxReconnects(-1)). It connects to nothing. Errors: [*ConfigError].
func New(pool *pgxpool.Pool, nc *nats.Conn, handle Handler, cfg Config) (*Consumer, error) {
	cfg = cfg.withDefaults()
	var p problems
	cfg.validateApply(&p)
	cfg.validate(&p)
	p.check(handle != nil, "handler: is required")
	if err := p.err(); err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("new consumer: %w", err)
	}
	applier, err := NewApplier(pool, handle, cfg)
	if err != nil {
		return nil, err
	}
	return &Consumer{
		cfg: cfg, log: cfg.Logger.With("consumer", cfg.Name, "stream", cfg.Stream), pool: pool, js: js,
		applier: applier, sql: applier.sql, metrics: applier.metrics, tracer: cfg.TracerProvider.Tracer(instrumentation),
		held: newHeld(cfg.Buffer, min(cfg.Buffer/4, cfg.Buffer-cfg.Concurrency)), began: time.Now(),
		renew: make(chan struct{}, 1), refused: make(chan error, 1),
	}, nil
}

// errStopping is the cause of the end of everything that a stop cuts.
var errStopping = errors.New("the consumer is stopping")

// Run consumes until ctx ends, then stops in two phases: it asks for nothing more, gives back what
// was not begun, and lets the rest finish for StopTimeout at most; what is left then is cut,
// rolled back and delivered again. It returns nil after a stop. It returns an error only for
// what no waiting mends: a [*DifferenceError], at the start or later. It makes a consumer
// that is absent from the stream. Call it once.
func (c *Consumer) Run(ctx context.Context) error {
	registration, err := c.metrics.show()
	if err != nil {
		return fmt.Errorf("run consumer: %w", err)
	}
	defer func() { _ = registration.Unregister() }() // nothing is left to be done about it
	// hard outlives ctx: it ends when the second phase of the stop is over.
	hard, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(errStopping)
	group, soft := errgroup.WithContext(ctx)
	c.keys = newKeys(c.cfg.Concurrency, c.cfg.Batch, func(batch []*delivery) { c.handle(hard, soft, batch) })
	advisories := c.listen(soft)
	defer advisories()
	for _, run := range []func() error{
		func() error { return c.pull(soft) },
		func() error { return c.control(soft) },
		func() error { return c.watch(soft) },
		func() error { return c.replay(soft) },
		func() error { return c.prune(soft) },
		func() error { return c.ended(soft) },
	} {
		group.Go(run)
	}
	speaking := make(chan struct{})
	go func() {
		defer close(speaking)
		c.speak(hard)
	}()
	err = group.Wait()
	c.finish(hard, cut)
	cut(errStopping)
	<-speaking
	return err
}

// ended waits for a reason to stop.
func (c *Consumer) ended(soft context.Context) error {
	select {
	case err := <-c.refused:
		return err
	case <-soft.Done():
		return nil
	}
}

// refuse ends the run. Of several reasons the first counts.
func (c *Consumer) refuse(err error) {
	select {
	case c.refused <- err:
	default:
	}
}

// finish is the second phase of the stop: wait for what is handled, then cut it.
func (c *Consumer) finish(hard context.Context, cut context.CancelCauseFunc) {
	finished := make(chan struct{})
	go func() {
		c.keys.wait()
		close(finished)
	}()
	timer := time.NewTimer(c.cfg.StopTimeout)
	defer timer.Stop()
	select {
	case <-finished:
	case <-timer.C:
		c.log.WarnContext(hard, "stop timeout: cutting what is being handled", "timeout", c.cfg.StopTimeout)
		cut(errStopping)
		<-finished
	}
}

// pull asks for as many messages as there is room for, until soft ends. What goes wrong is tried
// again after a pause; each request has an end, also over a reconnect.
func (c *Consumer) pull(soft context.Context) error {
	var consumer jetstream.Consumer
	failures := 0
	for soft.Err() == nil {
		if c.paused.Load() || c.applier.sick() {
			if !pause(soft, c.cfg.ControlEvery) {
				return nil
			}
			continue
		}
		var err error
		if consumer == nil {
			if consumer, err = c.bind(soft); err != nil {
				consumer = nil
			}
		}
		if err == nil {
			err = c.fetch(soft, consumer)
		}
		var difference *DifferenceError
		switch {
		case soft.Err() != nil:
			return nil
		case errors.As(err, &difference):
			return err
		case err == nil:
			failures = 0
		default:
			consumer = nil
			failures++
			c.log.WarnContext(soft, "messages cannot be asked for: trying again", "error", err)
			if !pause(soft, c.delay(uint64(failures), c.cfg.OutageMax)) {
				return nil
			}
		}
	}
	return nil
}

// errRenewed ends a request whose consumer has to be looked up anew.
var errRenewed = errors.New("the watchdog asked for a new request")

// fetch makes one request and begins with what comes.
func (c *Consumer) fetch(soft context.Context, consumer jetstream.Consumer) error {
	room, err := c.held.reserve(soft)
	if err != nil {
		return nil
	}
	used := 0
	defer func() { c.held.asked(room - used) }()
	select {
	case <-c.renew: // asked when there was no request
	default:
	}
	ctx, cancel := context.WithTimeout(soft, c.cfg.FetchWait)
	defer cancel()
	batch, err := consumer.Fetch(room, jetstream.FetchContext(ctx))
	if err != nil {
		return err
	}
	for {
		select {
		case msg, open := <-batch.Messages():
			if !open {
				if err := batch.Error(); err != nil && ctx.Err() == nil {
					return err
				}
				return nil
			}
			used++
			c.arrived.Store(int64(time.Since(c.began)))
			c.take(msg)
		case <-c.renew:
			cancel()
			for msg := range batch.Messages() {
				used++
				c.take(msg)
			}
			return errRenewed
		}
	}
}

// delay is the pause before a message comes again, or before something is tried again: it doubles,
// up to a limit, half of it fixed and half random, so that what failed together does not come
// back together. It is never zero: a message that comes back at once uses up its deliveries.
func (c *Consumer) delay(times uint64, limit time.Duration) time.Duration {
	d := c.cfg.RetryMin
	for ; times > 1 && d < limit; times-- {
		d *= 2
	}
	d = min(d, limit)
	return d/2 + rand.N(d/2+1)
}

// pause waits and reports whether ctx is alive.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// held are the messages that this instance has. All methods are safe for concurrent use.
type held struct {
	least int // room that is worth a request

	mu       sync.Mutex
	room     int  // for more messages
	asking   bool // a request is open, and has all the room
	messages map[*delivery]struct{}
	// roomier says that room was given back. Capacity 1; never closed.
	roomier chan struct{}
}

func newHeld(n, least int) *held {
	return &held{least: max(least, 1), room: n, messages: map[*delivery]struct{}{}, roomier: make(chan struct{}, 1)}
}

// reserve waits until there is room that is worth a request, and takes all of it.
func (h *held) reserve(ctx context.Context) (int, error) {
	for {
		h.mu.Lock()
		if n := h.room; n >= h.least {
			h.room, h.asking = 0, true
			h.mu.Unlock()
			return n, nil
		}
		h.mu.Unlock()
		select {
		case <-h.roomier:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// asked gives back what a request did not use.
func (h *held) asked(n int) {
	h.mu.Lock()
	h.asking = false
	h.mu.Unlock()
	h.free(n)
}

func (h *held) free(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.room += n
	select {
	case h.roomier <- struct{}{}:
	default:
	}
}

func (h *held) add(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages[d] = struct{}{}
}

// letGo says that a message is about to be settled: nobody speaks for it any more.
func (h *held) letGo(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.messages, d)
}

// list returns the messages.
func (h *held) list() []*delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.messages))
}

func (h *held) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.messages)
}

// full reports whether nothing is asked for because there is no room that is worth a request.
func (h *held) full() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.asking && h.room < h.least
}

// speak tells the broker that what is held is being worked on, until ctx ends. Nothing is held without end: handling is
// bounded, and so are those that wait behind it.
func (c *Consumer) speak(ctx context.Context) {
	for pause(ctx, c.cfg.AckWait/3) {
		for _, d := range c.held.list() {
			_ = d.msg.InProgress() // the next one may be heard; without any, the message comes again
		}
	}
}
