package retention_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// drains runs a relay on the database until the test ends, and returns the stream.
func (s *setup) drains() jetstream.JetStream {
	s.t.Helper()
	broker := outboxtest.NewNATS(s.t)
	js := outboxtest.NewStream(s.t, broker.URL(), "EVENTS", "events.>")
	cfg, err := relay.PoolConfig(s.db.URL, 4)
	if err != nil {
		s.t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(s.t.Context(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	nc, err := nats.Connect(broker.URL(), relay.NATSOptions("retention-test")...)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := relay.New(pool, nc, relay.Config{Stream: "EVENTS", Workers: 4, Lease: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("relay: %v", err)
		}
		nc.Close()
		pool.Close()
	})
	return js
}

// ids reads the event ids of the stream, and how often each is there.
func ids(t *testing.T, js jetstream.JetStream) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := js.Stream(ctx, "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	last := stream.CachedInfo().State.LastSeq
	if last == 0 {
		return counts
	}
	consumer, err := js.OrderedConsumer(ctx, "EVENTS", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		meta, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		counts[m.Headers().Get("ce-id")]++
		if meta.Sequence.Stream >= last {
			return counts
		}
	}
}

// TestRotationUnderLoad empties slots as soon as their events are drained, while producers write into
// these very slots, holds are staged in them, released and cancelled, and a relay drains. Nothing may
// fail or deadlock, every event is published, and what was cancelled is not.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	js := s.drains()
	const producers, least, most, holders, holds = 4, 250, 2_000, 2, 25
	loading, loaded := context.WithCancel(t.Context())
	defer loaded()
	var mu sync.Mutex // guards what the keepers count
	var enough atomic.Bool
	emptied, moved, passes := 0, int64(0), 0
	refused := map[retention.Outcome]int{}
	var keepers, all sync.WaitGroup
	for i := range 2 {
		k := s.keeper(fmt.Sprint("pod-", i), func(c *retention.Config) { c.Keep = time.Microsecond })
		keepers.Go(func() {
			for loading.Err() == nil {
				r, err := k.Pass(t.Context())
				if err != nil {
					t.Errorf("pass: %v", err)
					return
				}
				mu.Lock()
				passes++
				for _, step := range r.Refused {
					refused[step.Outcome]++
				}
				emptied, moved = emptied+len(r.Emptied), moved+r.Moved
				enough.Store(emptied >= 6)
				mu.Unlock()
			}
		})
	}
	// The slot that is written to changes all the time, and whoever was slow still writes to the other.
	first := s.old()
	var written atomic.Int32
	slot := func() int16 { return (first + 3*int16(written.Add(1)/100%2)) % 4 }
	produced := make([]int, producers)
	for p := range producers {
		all.Go(func() {
			for i := 0; i < least || i < most && !enough.Load(); i++ {
				produced[p]++
				if _, err := s.db.Pool.Exec(t.Context(), `INSERT INTO outbox.event_outbox (slot, event_id, source, type, partition_key)
					VALUES ($1, $2, '/test', 'test.happened', $3)`, slot(), fmt.Sprintf("p-%d-%d", p, i), fmt.Sprint("key-", i%7)); err != nil {
					t.Errorf("produce: %v", err)
					return
				}
			}
		})
	}
	released := make([][]string, holders)
	for h := range holders {
		all.Go(func() {
			for i := range holds {
				op, err := holdIn(t.Context(), s.db.Pool, slot())
				if err == nil {
					decision := "hold_cancel"
					if i%2 == 0 {
						decision = "hold_release"
						released[h] = append(released[h], op)
					}
					_, err = s.db.Pool.Exec(t.Context(), "SELECT outbox."+decision+"($1, 1, 'test')", op)
				}
				if err != nil {
					t.Errorf("hold: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	eventually(t, "the slots are empty", func() bool { return s.in(first)+s.in((first+3)%4) == 0 })
	loaded()
	keepers.Wait()
	t.Logf("%d passes, %d times emptied, %d held events moved, refused %v", passes, emptied, moved, refused)

	want := map[string]bool{}
	for p := range producers {
		for i := range produced[p] {
			want[fmt.Sprintf("p-%d-%d", p, i)] = true
		}
	}
	for _, list := range released {
		for _, op := range list {
			for i := range heldEach {
				want[fmt.Sprintf("%s-%d", op, i+1)] = true
			}
		}
	}
	wantStream(t, js, want)
	for line := range strings.Lines(s.db.ServerLog(t)) {
		if strings.Contains(line, "deadlock") || strings.Contains(line, "sqlstate=40") {
			t.Errorf("the server logged: %s", line)
		}
	}
}

// wantStream waits for the events in the stream, and wants each once and no other.
func wantStream(t *testing.T, js jetstream.JetStream, want map[string]bool) {
	t.Helper()
	eventually(t, "everything is published", func() bool {
		stream, err := js.Stream(t.Context(), "EVENTS")
		return err == nil && int(stream.CachedInfo().State.Msgs) >= len(want)
	})
	got := ids(t, js)
	for id := range want {
		if got[id] != 1 {
			t.Errorf("event %s is in the stream %d times", id, got[id])
		}
	}
	for id := range got {
		if !want[id] {
			t.Errorf("event %s should not be in the stream", id)
		}
	}
}

const heldEach = 3

// holdIn stages events that are held, in a slot, under an operation of their own.
func holdIn(ctx context.Context, pool *pgxpool.Pool, slot int16) (op string, err error) {
	if err = pool.QueryRow(ctx, "SELECT gen_random_uuid()::text").Scan(&op); err != nil {
		return "", err
	}
	if _, err = pool.Exec(ctx, "SELECT outbox.hold_register($1, 1, 'test')", op); err != nil {
		return "", err
	}
	return op, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT outbox.publish_held_text($1, 1, '/test', 'test.held', 'x', id => $1 || '-' || i, partitionkey => $1)
			FROM generate_series(1, $2::int) AS i`, op, heldEach); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE outbox.event_outbox SET slot = $2 WHERE hold_operation_id = $1::text::uuid", op, slot)
		return err
	})
}

// TestTheLogStaysSmall writes many times what it keeps. Size, dead rows and the cost of a look are what
// they were after the first cycles.
func TestTheLogStaysSmall(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const cycles, each = 12, 4000
	slot := s.old()
	second := (slot + 3) % 4 // the slot of yesterday
	var sizes []int64
	var costs []int
	for i := range cycles {
		into := []int16{slot, second}[i%2]
		s.fill(into, each, 3)
		s.hold(s.register(), 50)
		s.exec("UPDATE outbox.event_outbox SET slot = $1 WHERE tx IS NULL", into)
		s.exec("SELECT outbox.hold_release(operation_id::text, 1, 'test') FROM outbox.hold_generation WHERE state = 'active'")
		s.exec("UPDATE outbox.event_outbox SET slot = $1, staged_at = clock_timestamp() - interval '3 days'", into)
		s.exec("UPDATE outbox.hold_generation SET decided_at = clock_timestamp() - interval '3 days' WHERE decided_at IS NOT NULL")
		s.settle()
		sizes = append(sizes, query[int64](s, "SELECT sum(bytes) FROM outbox.retention_look()"))
		costs = append(costs, s.cost())
		s.empties(into)
	}
	t.Logf("sizes %d, pages of a look %d", sizes, costs)
	if first, last := sizes[1], sizes[cycles-1]; last > first*3/2 {
		t.Errorf("the log grew from %d to %d bytes", first, last)
	}
	if first, last := costs[1], costs[cycles-1]; last > first*3/2+100 {
		t.Errorf("a look read %d pages in the beginning, and %d in the end", first, last)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.event_outbox"); n != 0 {
		t.Errorf("%d events are left", n)
	}
}
