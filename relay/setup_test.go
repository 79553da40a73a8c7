package relay_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
	// patience bounds every wait for what has to happen: a machine may be slow.
	patience = 90 * time.Second
	// slack is what a slow machine adds to a time that is bounded.
	slack = 20 * time.Second
)

type relayConfig = relay.Config

// setup is a database and a broker of a test's own.
type setup struct {
	t    *testing.T
	db   *outboxtest.Database
	nats *harness.NATS
	js   jetstream.JetStream
	route
	// user is what a child puts before the address of the broker, "" or "name:password@".
	user string
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	s := &setup{t: t, db: outboxtest.NewDatabase(t), nats: outboxtest.NewNATS(t)}
	s.js = outboxtest.NewStream(t, s.nats.URL(), streamName, "events.>")
	if *publisher == relay.PublisherFast.String() {
		s.allowBatches()
	}
	return s
}

// publisher is what the relays of the tests use; those that are about one of them say so.
var publisher = flag.String("publisher", "async", "publisher of the relays in the tests: async, or fast, with streams that allow batches")

// allowBatches lets the stream take fast batches, which a relay uses by default then.
func (s *setup) allowBatches() {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), streamName)
	if err == nil {
		cfg := stream.CachedInfo().Config
		cfg.AllowBatchPublish = true
		_, err = s.js.UpdateStream(s.t.Context(), cfg)
	}
	if err != nil {
		s.t.Fatalf("allow batches: %v", err)
	}
}

// pod is a relay that runs in this process.
type pod struct {
	*relay.Relay
	name   string // of its database connections
	t      *testing.T
	logs   *logBuffer
	stop   context.CancelFunc
	ended  chan struct{} // closed when Run has returned
	err    error         // of Run; read it after ended
	closes func()
	cut    func()
}

// start runs a relay with quick settings; change alters them.
func (s *setup) start(change ...func(*relay.Config)) *pod {
	s.t.Helper()
	return s.startOn(s.relayURL(), s.nats.URL(), change...)
}

func (s *setup) startOn(databaseURL, natsURL string, change ...func(*relay.Config)) *pod {
	s.t.Helper()
	p := &pod{t: s.t, logs: &logBuffer{}, ended: make(chan struct{})}
	cfg := quick()
	cfg.Logger = slog.New(slog.NewTextHandler(p.logs, nil))
	for _, c := range change {
		c(&cfg)
	}
	poolConfig, err := relay.PoolConfig(databaseURL, cfg.Workers)
	if err != nil {
		s.t.Fatalf("pool config: %v", err)
	}
	// The dead connect to nothing: see kill.
	var dead atomic.Bool
	name := fmt.Sprintf("pod-%d", podNumber.Add(1))
	p.name = name
	poolConfig.ConnConfig.RuntimeParams["application_name"] = name
	poolConfig.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		if dead.Load() {
			return errKilled
		}
		return nil
	}
	wires := &wires{dial: poolConfig.ConnConfig.DialFunc}
	poolConfig.ConnConfig.DialFunc = wires.connect
	pool, err := pgxpool.NewWithConfig(s.t.Context(), poolConfig)
	if err != nil {
		s.t.Fatalf("pool: %v", err)
	}
	nc, err := nats.Connect(natsURL, relay.NATSOptions("relay-test")...)
	if err != nil {
		s.t.Fatalf("connect to NATS: %v", err)
	}
	p.Relay, err = relay.New(pool, nc, cfg)
	if err != nil {
		s.t.Fatalf("new relay: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	p.closes = sync.OnceFunc(func() { nc.Close(); pool.Close() })
	p.cut = func() {
		dead.Store(true)
		nc.Close()
		wires.cut()
		if _, err := s.db.Pool.Exec(context.Background(), killBackends, name); err != nil {
			s.t.Errorf("terminate backends of %s: %v", name, err)
		}
	}
	go func() {
		defer close(p.ended)
		p.err = p.Run(ctx)
	}()
	s.t.Cleanup(func() { p.stopAndWait() })
	return p
}

// relayURL is the database for a relay, with values added to its query.
func (s *setup) relayURL(values ...string) string {
	s.t.Helper()
	u, err := url.Parse(s.to(s))
	if err != nil {
		s.t.Fatal(err)
	}
	query := u.Query()
	for i := 0; i < len(values); i += 2 {
		query.Set(values[i], values[i+1])
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// quick is a configuration that does not keep a test waiting.
func quick() relay.Config {
	return relay.Config{
		Stream: streamName, Lease: 2 * time.Second, PollMax: 10 * time.Millisecond, AckTimeout: 2 * time.Second,
		RetryMin: 10 * time.Millisecond, RetryMax: 200 * time.Millisecond, StopTimeout: 5 * time.Second, Workers: 4,
	}
}

// wires are the connections of a pod to its database, which the end of a process closes.
type wires struct {
	dial pgconn.DialFunc

	mu   sync.Mutex
	open []net.Conn // also those that are closed by now
}

func (w *wires) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := w.dial(ctx, network, address)
	if err == nil {
		w.mu.Lock()
		w.open = append(w.open, conn)
		w.mu.Unlock()
	}
	return conn, err
}

func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.open {
		_ = conn.Close() // it may be closed
	}
}

// stopAndWait stops the relay as a signal would, and returns what Run returned.
func (p *pod) stopAndWait() error {
	p.t.Helper()
	p.stop()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("relay did not stop; its log:\n%s", p.logs)
	}
	p.closes()
	return p.err
}

// kill cuts the relay off from everything at once, so that it can neither settle nor
// hand back, and waits for its goroutines.
func (p *pod) kill() {
	p.t.Helper()
	p.cut()
	p.stopAndWait()
}

var (
	podNumber atomic.Int64
	errKilled = errors.New("this pod was killed")
)

// stage commits events with the given key in a transaction of their own and returns their ids.
func (s *setup) stage(key string, n int) []string {
	s.t.Helper()
	return s.stageTogether(events(key, n)...)
}

// stageTogether commits events in one transaction and returns their ids.
func (s *setup) stageTogether(list ...event.Event) []string {
	s.t.Helper()
	var ids []string
	err := pgx.BeginFunc(s.t.Context(), s.db.Pool, func(tx pgx.Tx) (err error) {
		ids, err = outbox.PublishTx(s.t.Context(), tx, list...)
		return err
	})
	if err != nil {
		s.t.Fatalf("stage: %v", err)
	}
	return ids
}

// events makes n events of a key; "" means none.
func events(key string, n int) []event.Event {
	list := make([]event.Event, n)
	for i := range list {
		e := event.New()
		e.SetSource("/test")
		e.SetType("test.happened")
		if key != "" {
			e.SetExtension("partitionkey", key)
		}
		if err := e.SetData("application/json", map[string]any{"key": key, "n": i}); err != nil {
			panic(err)
		}
		list[i] = e
	}
	return list
}

// message is an event as the stream has it.
type message struct {
	event.Event
	seq uint64
}

// inStream reads the whole stream, from first to last.
func (s *setup) inStream() []message {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	list, err := readStream(ctx, s.js)
	if err != nil {
		s.t.Fatalf("read stream: %v", err)
	}
	return list
}

func readStream(ctx context.Context, js jetstream.JetStream) ([]message, error) {
	stream, err := js.Stream(ctx, streamName)
	if err != nil {
		return nil, err
	}
	last := stream.CachedInfo().State.LastSeq
	var list []message
	if last == 0 {
		return nil, nil
	}
	consumer, err := js.OrderedConsumer(ctx, streamName, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	it, err := consumer.Messages(jetstream.PullMaxMessages(2000))
	if err != nil {
		return nil, err
	}
	defer it.Stop()
	for {
		m, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		e, err := wire.Decode(m.Headers(), m.Data())
		if err != nil {
			return nil, fmt.Errorf("stream sequence %d: %w", meta.Sequence.Stream, err)
		}
		list = append(list, message{Event: e, seq: meta.Sequence.Stream})
		if meta.Sequence.Stream >= last {
			return list, nil
		}
	}
}

// count returns how many messages the stream has.
func (s *setup) count() int {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), streamName)
	if err != nil {
		s.t.Fatalf("stream: %v", err)
	}
	return int(stream.CachedInfo().State.Msgs)
}

// eventually waits until ok holds.
func (s *setup) eventually(what string, ok func() bool) {
	s.t.Helper()
	s.within(patience, what, ok)
}

// within waits until ok holds, for so long that something else would have happened by then.
func (s *setup) within(limit time.Duration, what string, ok func() bool) {
	s.t.Helper()
	outboxtest.Eventually(s.t, limit, what, ok)
}

// query returns one value from the database.
func query[T any](s *setup, sql string, args ...any) T {
	s.t.Helper()
	return outboxtest.One[T](s.t, s.db.Pool, sql, args...)
}

// exec runs a statement.
func (s *setup) exec(sql string, args ...any) {
	s.t.Helper()
	outboxtest.Exec(s.t, s.db.Pool, sql, args...)
}

// ids returns the ids of messages, in order.
func ids(list []message) []string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = m.ID()
	}
	return out
}

// logBuffer is a log that a test can read while it is written.
type logBuffer struct{ outboxtest.Log }

func (b *logBuffer) lines() int { return strings.Count(b.String(), "\n") }

var errRollback = errors.New("roll back on purpose")
