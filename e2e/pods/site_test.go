package pods_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/e2e/history"
	"github.com/holdfast-dev/holdfast/e2e/overlay"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	streamName = "PODS"
	source     = "/pods"
	eventType  = "pods.happened"

	// within bounds every wait; a machine may be busy.
	within = 120 * time.Second
	// small is what a message may have while the stream refuses large ones.
	small = 4096
)

// site is a database and a broker of a test's own, with a witness and a record.
type site struct {
	t      *testing.T
	binary string // of the relay
	db     *outboxtest.Database
	nats   *harness.NATS
	js     jetstream.JetStream
	record *history.Recorder
	pg     *harness.Postgres // of its own, or nil
	window time.Duration     // how long the stream remembers ids

	mu        sync.Mutex // guards the fields below
	version   map[string]int
	committed map[history.Name]bool
}

// building lets one test build at a time, so that the others find the parts made.
var building sync.Mutex

// build builds the relay with everything planted, for the tests below t.
func build(t *testing.T) (binary string) {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	tree, err := overlay.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := plant(tree)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary = filepath.Join(dir, "relay")
	if err := tree.Build(t.Context(), dir, binary, "./cmd/relay", files); err != nil {
		t.Fatal(err)
	}
	return binary
}

func newSite(t *testing.T, binary string, db *outboxtest.Database, window time.Duration) *site {
	t.Helper()
	s := &site{
		t: t, binary: binary, db: db, nats: outboxtest.NewNATS(t), record: &history.Recorder{}, window: window,
		version: map[string]int{}, committed: map[history.Name]bool{},
	}
	s.js = outboxtest.NewStream(t, s.nats.URL(), streamName, "events.>")
	s.refuseLarge(false)
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // ends with the test
	if err := history.InstallWitness(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	return s
}

// refuseLarge sets whether the stream refuses large messages.
func (s *site) refuseLarge(refuse bool) {
	s.t.Helper()
	cfg := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: s.window, MaxMsgSize: -1}
	if refuse {
		cfg.MaxMsgSize = small
	}
	if _, err := s.js.UpdateStream(s.t.Context(), cfg); err != nil {
		s.t.Fatalf("update the stream: %v", err)
	}
}

// load commits transactions of ordered and of unordered events: 120 in all.
func (s *site) load() {
	s.t.Helper()
	for tx := range 6 {
		s.commit(0, fmt.Sprintf("key-%d", tx), fmt.Sprintf("key-%d", tx), "", "", "key-9", "", "", fmt.Sprintf("key-%d", tx), "", "")
		s.commit(0, "key-7", "key-7", "", "", "", "", "", "", "key-8", "key-8")
	}
}

// commit commits one event of each key with a payload of a size.
func (s *site) commit(size int, keys ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	events := make([]history.Event, len(keys))
	staged := make([]event.Event, len(keys))
	for i, key := range keys {
		s.version[key]++
		body := []byte(fmt.Sprintf(`{"key":%q,"n":%d,"fill":%q}`, key, s.version[key], strings.Repeat("x", size)))
		e := event.New()
		e.SetID(fmt.Sprintf("%s-%d", key, s.version[key]))
		e.SetSource(source)
		e.SetType(eventType)
		e.SetTime(time.Now())
		events[i] = history.Event{Name: history.Name{Source: source, ID: e.ID()}, Type: eventType, Digest: sha256.Sum256(body)}
		if key != "" {
			e.SetExtension("partitionkey", key)
			events[i].Key = key
		}
		e.SetExtension("version", s.version[key])
		events[i].Version = s.version[key]
		e.SetDataContentType("application/json")
		e.DataEncoded = body
		staged[i] = e
	}
	begin := time.Now()
	err := pgx.BeginFunc(s.t.Context(), s.db.Pool, func(tx pgx.Tx) error {
		_, err := outbox.PublishTx(s.t.Context(), tx, staged...)
		return err
	})
	if err != nil {
		s.t.Fatalf("commit: %v", err)
	}
	for _, e := range events {
		s.committed[e.Name] = true
	}
	s.record.Stage(history.Stage{Actor: "test", Begin: begin, Outcome: history.OK, Events: events})
}

// total is how many events were committed.
func (s *site) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.committed)
}

// eventually waits until ok holds.
func (s *site) eventually(what string, ok func() bool) {
	s.t.Helper()
	outboxtest.Eventually(s.t, within, what, ok)
}

// query returns one value from the database.
func query[T any](s *site, sql string, args ...any) T {
	s.t.Helper()
	return outboxtest.One[T](s.t, s.db.Pool, sql, args...)
}

func (s *site) exec(sql string, args ...any) {
	s.t.Helper()
	outboxtest.Exec(s.t, s.db.Pool, sql, args...)
}

// late is how many events no cursor has passed, and how many wait for a retry.
func (s *site) late() int64 {
	s.t.Helper()
	return query[int64](s, `SELECT count(*) + (SELECT count(*) FROM outbox.outbox_retry) FROM outbox.event_outbox e JOIN outbox.outbox_lane l USING (lane)
		WHERE e.tx IS NOT NULL AND NOT pg_visible_in_snapshot(e.tx, l.drained)
		  AND (l.target IS NULL OR NOT (pg_visible_in_snapshot(e.tx, l.target) AND e.seq <= l.pos))`)
}

func (s *site) settled() int64 {
	s.t.Helper()
	return query[int64](s, "SELECT coalesce(sum(events), 0) FROM outbox.outbox_batch")
}

// judge wants everything delivered once, but for what was given up, and nothing violated. The
// relays must have ended.
func (s *site) judge(healed time.Time, dead int) *history.History {
	s.t.Helper()
	h := s.record.History()
	h.Committed = s.committed
	h.Limits.Window, h.Limits.Skew, h.Limits.Within = s.window, time.Second, 2*within
	h.Limits.Healed, h.Limits.Drained = healed, time.Now()
	if err := h.ReadWitness(s.t.Context(), s.db.Pool); err != nil {
		s.t.Fatal(err)
	}
	var err error
	h.Stream, err = history.ReadStream(s.t.Context(), history.Source{Servers: s.nats.URL(), Stream: streamName, Prefix: "events"})
	if err != nil {
		s.t.Fatal(err)
	}
	if report := h.Judge(); !report.OK() {
		s.t.Error(report.String())
	}
	if want := len(s.committed) - dead; len(h.Stream) != want {
		s.t.Errorf("the stream has %d messages of %d events, %d of them given up: want one copy of each other", len(h.Stream), len(s.committed), dead)
	}
	if _, got := h.Refused(); got != dead {
		s.t.Errorf("%d events are given up, want %d", got, dead)
	}
	return h
}
