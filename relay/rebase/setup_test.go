package rebase_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
)

const (
	streamName = "EVENTS"
	// window is so short that nothing but the cursor and the look-back keeps copies out.
	window = 100 * time.Millisecond
	// limit is the largest message of the stream while it refuses the poison.
	limit = 4096
)

// broker is a server with the stream that one relay group fills.
type broker struct {
	t     *testing.T
	group string
	nats  *harness.NATS
	js    jetstream.JetStream
}

func newBroker(t *testing.T, group string) *broker {
	t.Helper()
	b := &broker{t: t, group: group, nats: outboxtest.NewNATS(t)}
	b.js = outboxtest.NewStream(t, b.nats.URL(), streamName, "events.>")
	b.limit(limit)
	return b
}

func (b *broker) limit(bytes int32) {
	b.t.Helper()
	cfg := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: window, MaxMsgSize: bytes}
	if _, err := b.js.UpdateStream(b.t.Context(), cfg); err != nil {
		b.t.Fatalf("limit messages: %v", err)
	}
}

// count returns how many messages the stream has.
func (b *broker) count() int {
	b.t.Helper()
	stream, err := b.js.Stream(b.t.Context(), streamName)
	if err != nil {
		b.t.Fatalf("stream: %v", err)
	}
	return int(stream.CachedInfo().State.Msgs)
}

// forgets reports whether the dedup window of the newest message is over.
func (b *broker) forgets() bool {
	stream, err := b.js.Stream(b.t.Context(), streamName)
	if err != nil {
		b.t.Fatalf("stream: %v", err)
	}
	return time.Since(stream.CachedInfo().State.LastTime) > 3*window
}

// published returns the events of the stream, from first to last.
func (b *broker) published() []event.Event {
	b.t.Helper()
	last := b.count()
	consumer, err := b.js.OrderedConsumer(b.t.Context(), streamName, jetstream.OrderedConsumerConfig{})
	if err != nil {
		b.t.Fatalf("read stream: %v", err)
	}
	it, err := consumer.Messages()
	if err != nil {
		b.t.Fatalf("read stream: %v", err)
	}
	defer it.Stop()
	list := make([]event.Event, 0, last)
	for len(list) < last {
		m, err := it.Next(jetstream.NextMaxWait(10 * time.Second))
		if err != nil {
			b.t.Fatalf("read stream after %d messages: %v", len(list), err)
		}
		e, err := wire.Decode(m.Headers(), m.Data())
		if err != nil {
			b.t.Fatalf("decode: %v", err)
		}
		list = append(list, e)
	}
	return list
}

// store is a database, in whatever cluster.
type store struct {
	t    *testing.T
	url  string
	pool *pgxpool.Pool
}

func open(t *testing.T, url string) *store {
	t.Helper()
	pool := outboxtest.NewPool(t, url, func(c *pgxpool.Config) { c.MaxConns = 8 })
	return &store{t: t, url: url, pool: pool}
}

func (s *store) exec(sql string, args ...any) {
	s.t.Helper()
	outboxtest.Exec(s.t, s.pool, sql, args...)
}

func one[T any](s *store, sql string, args ...any) T {
	s.t.Helper()
	return outboxtest.One[T](s.t, s.pool, sql, args...)
}

// stage commits n events of a key in a transaction of their own.
func (s *store) stage(key string, n int) { s.stageSized(key, n, 10) }

func (s *store) stageSized(key string, n, size int) {
	s.t.Helper()
	err := pgx.BeginFunc(s.t.Context(), s.pool, func(tx pgx.Tx) error {
		_, err := outbox.PublishTx(s.t.Context(), tx, events(key, n, size)...)
		return err
	})
	if err != nil {
		s.t.Fatalf("stage %s: %v", key, err)
	}
}

// hold stages n held events under a new operation.
func (s *store) hold(key string, n int) outbox.Hold {
	s.t.Helper()
	h := outbox.Hold{Operation: uuid.Must(uuid.NewV7()), Generation: 1}
	s.exec("SELECT outbox.hold_register($1, 1, 'test')", h.Operation.String())
	err := pgx.BeginFunc(s.t.Context(), s.pool, func(tx pgx.Tx) error {
		_, err := outbox.PublishTxHeld(s.t.Context(), tx, h, events(key, n, 10)...)
		return err
	})
	if err != nil {
		s.t.Fatalf("stage held: %v", err)
	}
	return h
}

func (s *store) release(h outbox.Hold) {
	s.exec("SELECT outbox.hold_release($1, 1, 'test')", h.Operation.String())
}

func (s *store) cancel(h outbox.Hold) {
	s.exec("SELECT outbox.hold_cancel($1, 1, 'test')", h.Operation.String())
}

func events(key string, n, size int) []event.Event {
	list := make([]event.Event, n)
	for i := range list {
		e := event.New()
		e.SetSource("/test")
		e.SetType("test.happened")
		if key != "" {
			e.SetExtension("partitionkey", key)
		}
		e.DataEncoded = bytes.Repeat([]byte("x"), size)
		list[i] = e
	}
	return list
}

// pod is a relay that runs in this process.
type pod struct {
	s      *store
	name   string
	stop   context.CancelFunc
	ended  chan struct{} // closed when Run has returned
	err    error         // of Run; read it after ended
	closes func()
	cut    func()
}

var (
	podNumber atomic.Int64
	errKilled = errors.New("this pod was killed")
)

// start runs a relay that drains a database to a broker.
func (b *broker) start(s *store, change ...func(*relay.Config)) *pod {
	s.t.Helper()
	name := fmt.Sprintf("rebase-pod-%d", podNumber.Add(1))
	cfg := relay.Config{
		Stream: streamName, Group: b.group, Owner: name, Lease: time.Second, PollMax: 10 * time.Millisecond, AckTimeout: 2 * time.Second,
		RetryMin: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond, StopTimeout: 5 * time.Second,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, c := range change {
		c(&cfg)
	}
	poolConfig, err := relay.PoolConfig(s.url, 16)
	if err != nil {
		s.t.Fatal(err)
	}
	poolConfig.ConnConfig.RuntimeParams["application_name"] = name
	var dead atomic.Bool
	poolConfig.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		if dead.Load() {
			return errKilled
		}
		return nil
	}
	pool, err := pgxpool.NewWithConfig(s.t.Context(), poolConfig)
	if err != nil {
		s.t.Fatal(err)
	}
	nc, err := nats.Connect(b.nats.URL(), relay.NATSOptions(name)...)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := relay.New(pool, nc, cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &pod{s: s, name: name, stop: cancel, ended: make(chan struct{}), closes: sync.OnceFunc(func() { nc.Close(); pool.Close() })}
	p.cut = func() {
		dead.Store(true)
		nc.Close()
		s.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", name)
	}
	go func() {
		defer close(p.ended)
		p.err = r.Run(ctx)
	}()
	s.t.Cleanup(func() { p.wait() })
	return p
}

// wait stops the relay and returns what Run returned.
func (p *pod) wait() error {
	p.s.t.Helper()
	p.stop()
	select {
	case <-p.ended:
	case <-time.After(90 * time.Second):
		p.s.t.Fatal("the relay did not stop")
	}
	p.closes()
	return p.err
}

// kill cuts the relay off from everything at once, so that it can neither settle nor hand back.
func (p *pod) kill() {
	p.s.t.Helper()
	p.cut()
	p.wait() //nolint:errcheck // it was killed
}

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	outboxtest.Eventually(t, 90*time.Second, what, ok)
}
