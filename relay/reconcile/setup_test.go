package reconcile_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/reconcile"
)

const (
	streamName = "EVENTS"
	window     = 100 * time.Millisecond // in which the stream remembers an id
)

// setup is a database and a broker of a test's own.
type setup struct {
	t    *testing.T
	db   *outboxtest.Database
	nats *harness.NATS
	dir  string // of the broker
	nc   *nats.Conn
	js   jetstream.JetStream
}

// newSetup makes a stream with a short dedup window; change alters it.
func newSetup(t *testing.T, change ...func(*jetstream.StreamConfig)) *setup {
	t.Helper()
	s := &setup{t: t, db: outboxtest.NewDatabase(t), dir: t.TempDir()}
	s.nats = outboxtest.NewNATS(t, func(o *harness.NATSOptions) { o.Dir = s.dir })
	s.connect()
	cfg := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: window}
	for _, c := range change {
		c(&cfg)
	}
	if _, err := s.js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *setup) connect() {
	s.t.Helper()
	var err error
	if s.nc, err = nats.Connect(s.nats.URL(), relay.NATSOptions("reconcile-test")...); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.nc.Close)
	if s.js, err = jetstream.New(s.nc); err != nil {
		s.t.Fatal(err)
	}
}

func (s *setup) config() relay.Config {
	return relay.Config{
		Stream: streamName, Lease: time.Second, PollMax: 10 * time.Millisecond, AckTimeout: 2 * time.Second,
		RetryMin: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond, StopTimeout: 5 * time.Second,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// start runs a relay and returns how to stop it.
func (s *setup) start(change ...func(*relay.Config)) (stop func()) {
	s.t.Helper()
	cfg := s.config()
	for _, c := range change {
		c(&cfg)
	}
	poolConfig, err := relay.PoolConfig(s.db.URL, 8)
	if err != nil {
		s.t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(s.t.Context(), poolConfig)
	if err != nil {
		s.t.Fatal(err)
	}
	nc, err := nats.Connect(s.nats.URL(), relay.NATSOptions("relay-test")...)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := relay.New(pool, nc, cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("run: %v", err)
		}
		nc.Close()
		pool.Close()
	}
	s.t.Cleanup(stop)
	return stop
}

// drain lets a relay publish and settle what waits, and stops it.
func (s *setup) drain(change ...func(*relay.Config)) {
	s.t.Helper()
	stop := s.start(change...)
	s.eventually("everything is settled", func() bool {
		return query[bool](s, `SELECT NOT EXISTS (SELECT FROM outbox.event_outbox e JOIN outbox.outbox_lane l ON l.lane = e.lane
			WHERE l.target IS NOT NULL OR NOT pg_visible_in_snapshot(e.tx, l.drained))`)
	})
	stop()
}

// stage commits n events of a key, each with a payload of its own, and returns their ids.
func (s *setup) stage(key string, n int) []string {
	s.t.Helper()
	list := make([]event.Event, n)
	for i := range list {
		e := event.New()
		e.SetSource("/test")
		e.SetType("test.happened")
		e.SetExtension("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		e.SetExtension("number", i)
		if key != "" {
			e.SetExtension("partitionkey", key)
		}
		if err := e.SetData("application/json", map[string]any{"key": key, "n": i}); err != nil {
			s.t.Fatal(err)
		}
		list[i] = e
	}
	var ids []string
	err := pgx.BeginFunc(s.t.Context(), s.db.Pool, func(tx pgx.Tx) (err error) {
		ids, err = outbox.PublishTx(s.t.Context(), tx, list...)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return ids
}

func query[T any](s *setup, sql string, args ...any) T {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.t.Context(), sql, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func (s *setup) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.db.Pool.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

func (s *setup) eventually(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			s.t.Fatalf("not within 90 s: %s", what)
		}
		select {
		case <-s.t.Context().Done():
			s.t.Fatalf("test ended before: %s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// reconcile runs a comparison.
func (s *setup) reconcile(change ...func(*reconcile.Config)) *reconcile.Report {
	s.t.Helper()
	cfg := reconcile.Config{Relay: s.config()}
	for _, c := range change {
		c(&cfg)
	}
	report, err := reconcile.Run(s.t.Context(), s.db.Pool, s.nc, cfg)
	if err != nil {
		s.t.Fatalf("reconcile: %v", err)
	}
	return report
}

func withRepair(c *reconcile.Config) { c.Repair = true }

// counts are findings, without the classes that have none.
type counts map[reconcile.Class]int64

// wants compares what was found, and nothing else.
func (s *setup) wants(r *reconcile.Report, want counts) {
	s.t.Helper()
	if diff := cmp.Diff(want, counts(r.Counts)); diff != "" {
		s.t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// stored is a message of the stream.
type stored struct {
	event.Event
	msg *nats.Msg
	seq uint64
}

// messages reads the stream from first to last.
func (s *setup) messages() []stored {
	s.t.Helper()
	stream := s.stream()
	state := stream.CachedInfo().State
	var list []stored
	for seq := state.FirstSeq; seq <= state.LastSeq && state.Msgs > 0; seq++ {
		m, err := stream.GetMsg(s.t.Context(), seq)
		if err != nil {
			continue // deleted
		}
		e, err := wire.Decode(m.Header, m.Data)
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, stored{Event: e, msg: &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}, seq: seq})
	}
	return list
}

func (s *setup) stream() jetstream.Stream {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), streamName)
	if err != nil {
		s.t.Fatal(err)
	}
	return stream
}

// delete removes messages from the middle of the stream.
func (s *setup) delete(list ...stored) {
	s.t.Helper()
	stream := s.stream()
	for _, m := range list {
		if err := stream.DeleteMsg(s.t.Context(), m.seq); err != nil {
			s.t.Fatal(err)
		}
	}
}

// put publishes a message by hand, once the stream has forgotten the ids that it had.
func (s *setup) put(list ...*nats.Msg) {
	s.t.Helper()
	s.eventually("the dedup window is over", func() bool { return time.Since(s.stream().CachedInfo().State.LastTime) > 3*window })
	for _, m := range list {
		if _, err := s.js.PublishMsg(s.t.Context(), m); err != nil {
			s.t.Fatal(err)
		}
	}
}

// idsOf returns the event ids of the examples of a class.
func idsOf(r *reconcile.Report, class reconcile.Class) []string {
	var ids []string
	for _, e := range r.Examples {
		if e.Class == class {
			ids = append(ids, e.EventID)
		}
	}
	return ids
}
