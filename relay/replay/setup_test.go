package replay_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/replay"
)

const streamName = "EVENTS"

// setup is a database and a broker of a test's own.
type setup struct {
	t    *testing.T
	db   *outboxtest.Database
	nats *harness.NATS
	nc   *nats.Conn
	js   jetstream.JetStream
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	s := &setup{t: t, db: outboxtest.NewDatabase(t), nats: outboxtest.NewNATS(t)}
	s.js = outboxtest.NewStream(t, s.nats.URL(), streamName, "events.>")
	var err error
	if s.nc, err = nats.Connect(s.nats.URL(), relay.NATSOptions("replay-test")...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.nc.Close)
	return s
}

func (s *setup) config() relay.Config {
	return relay.Config{
		Stream: streamName, Lease: time.Second, PollMax: 10 * time.Millisecond, AckTimeout: 500 * time.Millisecond,
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
	pool, err := pgxpool.New(s.t.Context(), s.db.URL)
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
func (s *setup) drain() {
	s.t.Helper()
	stop := s.start()
	s.eventually("everything is settled", func() bool {
		return query[bool](s, `SELECT NOT EXISTS (SELECT FROM outbox.event_outbox e JOIN outbox.outbox_lane l ON l.lane = e.lane
			WHERE l.target IS NOT NULL OR NOT pg_visible_in_snapshot(e.tx, l.drained))`)
	})
	stop()
}

// stage commits n events of a key and a type.
func (s *setup) stage(kind, key string, n int) {
	s.t.Helper()
	s.exec("SELECT outbox.publish_text('/test', $1, 'n' || n, partitionkey => nullif($2, '')) FROM generate_series(1, $3) AS n", kind, key, n)
}

func (s *setup) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.db.Pool.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
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

// an hour ago is before everything that a test stages.
func hourAgo() time.Time { return time.Now().Add(-time.Hour) }

// replays runs a replay of everything; change alters it.
func (s *setup) replays(change ...func(*replay.Config)) replay.Result {
	s.t.Helper()
	cfg := replay.Config{Relay: s.config(), Since: hourAgo()}
	for _, c := range change {
		c(&cfg)
	}
	result, err := replay.Run(s.t.Context(), s.db.Pool, s.nc, cfg)
	if err != nil {
		s.t.Fatalf("replay: %v", err)
	}
	return result
}

// message is what a stream has.
type message struct {
	id, event, key, subject string
	replayed                bool
}

// messages reads a stream from first to last.
func (s *setup) messages(name string) []message {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	var list []message
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(s.t.Context(), seq)
		if err != nil {
			s.t.Fatal(err)
		}
		e, err := wire.Decode(m.Header, m.Data)
		if err != nil {
			s.t.Fatal(err)
		}
		key, _ := e.Extensions()["partitionkey"].(string)
		id := m.Header.Get(nats.MsgIdHdr)
		list = append(list, message{id: id, event: e.ID(), key: key, subject: m.Subject, replayed: strings.Contains(id, ".r")})
	}
	return list
}

// events returns the event ids of one key, in the order of the stream.
func events(list []message, key string, replayed bool) []string {
	var ids []string
	for _, m := range list {
		if m.key == key && m.replayed == replayed {
			ids = append(ids, m.event)
		}
	}
	return ids
}
