package relay_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay"
)

var (
	propertyFor  = flag.Duration("property.for", 8*time.Second, "how long the property test puts load on the relays")
	propertySeed = flag.Uint64("property.seed", 0, "seed of the property test; 0 takes the clock")
)

// TestDrainProperty is the property test of the drain protocol: random producers and random
// deaths of relays with tiny batches, then the stream is compared with what was committed.
func TestDrainProperty(t *testing.T) {
	t.Parallel()
	t.Run("async", func(t *testing.T) {
		t.Parallel()
		s := newSetup(t)
		s.drainProperty(false, func(rng *rand.Rand, c *relayConfig) {
			c.Publisher, c.BatchSize = relay.PublisherAsync, 1+rng.IntN(4)
		})
	})
	t.Run("fast", func(t *testing.T) {
		t.Parallel()
		s := newSetup(t)
		s.allowBatches()
		s.drainProperty(true, func(rng *rand.Rand, c *relayConfig) {
			c.Publisher, c.BatchSize = relay.PublisherAuto, 4+rng.IntN(8)
		})
	})
}

// drainProperty fails the test if the stream is not what was committed. With fast it goes on until
// some batches were fast.
func (s *setup) drainProperty(fast bool, change func(*rand.Rand, *relayConfig)) {
	t := s.t
	seed := *propertySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -property.seed=%d -property.for=%s", seed, *propertyFor)
	s.exec("CREATE TABLE key_state (key text PRIMARY KEY, version bigint NOT NULL DEFAULT 0)")
	s.exec("INSERT INTO key_state SELECT 'k' || n FROM generate_series(0, 11) n")

	h := &history{published: map[string]bool{}, open: map[uuid.UUID]*operation{}}
	load, endLoad := context.WithTimeout(t.Context(), *propertyFor)
	defer endLoad()
	var producers sync.WaitGroup
	for i := range 12 {
		producers.Go(func() {
			p := &producer{s: s, h: h, rng: rand.New(rand.NewPCG(seed, uint64(i))), n: i}
			for load.Err() == nil {
				p.step(t.Context())
			}
		})
	}
	deaths, fastBatches := s.mortalRelays(load, seed, 3, change)
	producers.Wait()
	h.releaseOpen(t, s)

	// One relay that lives finishes the rest.
	last := s.start(func(c *relayConfig) { change(rand.New(rand.NewPCG(seed, 999)), c) })
	if fast { // the first batch after a death is never
		s.eventually("fast batches", func() bool {
			h.publish(s.stage("", 64))
			return relay.FastBatches(last.Relay) > 0
		})
	}
	s.eventually("nothing left to drain", func() bool { return s.backlog() == 0 })
	h.verify(t, s)
	t.Logf("%d events published by design, %d dropped, %d rolled back, %d relays killed, %d fast batches",
		len(h.published), h.dropped.Load(), h.rolledBack.Load(), deaths, fastBatches+relay.FastBatches(last.Relay))
	if len(h.published) == 0 || h.dropped.Load() == 0 || h.rolledBack.Load() == 0 || deaths == 0 {
		t.Error("the load did not do everything it is for; give it more time")
	}
}

// mortalRelays keeps n relays alive until ctx ends: each is killed, or stopped, at a random
// moment and comes back. It returns how many were killed, after all are gone, and how many batches
// were fast.
func (s *setup) mortalRelays(ctx context.Context, seed uint64, n int, change func(*rand.Rand, *relayConfig)) (kills int, fastBatches int64) {
	var killed, fast atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(1000+i)))
			for ctx.Err() == nil {
				p := s.start(func(c *relayConfig) { change(rng, c); c.Lease = time.Second })
				pause(ctx, time.Duration(rng.IntN(1500))*time.Millisecond)
				if rng.IntN(4) == 0 {
					if err := p.stopAndWait(); err != nil {
						s.t.Errorf("a relay that was stopped: %v", err)
					}
				} else {
					killed.Add(1)
					p.kill()
				}
				fast.Add(relay.FastBatches(p.Relay))
			}
		})
	}
	all.Wait()
	return int(killed.Load()), fast.Load()
}

// backlog counts what is committed, not held and not drained, for all lanes.
func (s *setup) backlog() int64 {
	return query[int64](s, `SELECT count(*) FROM outbox.event_outbox e JOIN outbox.outbox_lane l USING (lane)
		WHERE e.tx IS NOT NULL AND NOT pg_visible_in_snapshot(e.tx, l.drained)
		  AND (l.target IS NULL OR NOT (pg_visible_in_snapshot(e.tx, l.target) AND e.seq <= l.pos))`)
}

// pause is part of the load: transactions that take their time.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// operation is a hold of the model.
type operation struct {
	hold outbox.Hold
	ids  []string // of its committed held events
}

// history is the model: what the stream must have in the end. Safe for concurrent use.
type history struct {
	mu        sync.Mutex
	published map[string]bool
	open      map[uuid.UUID]*operation

	dropped, rolledBack atomic.Int64
}

// producer is one connection's worth of random transactions.
type producer struct {
	s   *setup
	h   *history
	rng *rand.Rand
	n   int
}

func (p *producer) step(ctx context.Context) {
	switch p.rng.IntN(10) {
	case 0:
		p.operation(ctx)
	default:
		p.transaction(ctx)
	}
}

// transaction stages events of one key, with the version of the key in each, and commits or
// rolls back. The row lock serialises the writers of the key, as a real aggregate's would.
func (p *producer) transaction(ctx context.Context) {
	var ids []string
	err := pgx.BeginFunc(ctx, p.s.db.Pool, func(tx pgx.Tx) error {
		if p.rng.IntN(3) == 0 { // an id that is older than what it writes
			if _, err := tx.Exec(ctx, "SELECT pg_current_xact_id()"); err != nil {
				return err
			}
			p.pause(ctx)
		}
		for range 1 + p.rng.IntN(2) {
			key := fmt.Sprintf("k%d", p.rng.IntN(12))
			if len(ids) > 0 { // the keys of one transaction in one order, against deadlocks
				key = "k11"
			}
			var version int
			n := 1 + p.rng.IntN(3)
			err := tx.QueryRow(ctx, "UPDATE key_state SET version = version + $2 WHERE key = $1 RETURNING version", key, n).Scan(&version)
			if err != nil {
				return err
			}
			staged, err := outbox.PublishTx(ctx, tx, versions(key, version-n+1, n)...)
			if err != nil {
				return err
			}
			ids = append(ids, staged...)
			p.pause(ctx)
		}
		if p.rng.IntN(5) == 0 {
			return errRollback
		}
		return nil
	})
	switch {
	case err == nil:
		p.h.publish(ids)
	case errors.Is(err, errRollback):
		p.h.rolledBack.Add(int64(len(ids)))
	case ctx.Err() == nil:
		p.s.t.Errorf("producer %d: %v", p.n, err)
	}
}

// operation holds events in some transactions, then releases or cancels them, or leaves them.
func (p *producer) operation(ctx context.Context) {
	op := &operation{hold: outbox.Hold{Operation: uuid.Must(uuid.NewV7()), Generation: 1}}
	p.hold(ctx, "hold_register", op)
	for range 1 + p.rng.IntN(3) {
		var ids []string
		err := pgx.BeginFunc(ctx, p.s.db.Pool, func(tx pgx.Tx) (err error) {
			ids, err = outbox.PublishTxHeld(ctx, tx, op.hold, events("", 1+p.rng.IntN(4))...)
			p.pause(ctx)
			if err == nil && p.rng.IntN(4) == 0 {
				return errRollback
			}
			return err
		})
		if err == nil {
			op.ids = append(op.ids, ids...)
		} else if !errors.Is(err, errRollback) {
			p.s.t.Errorf("producer %d: hold: %v", p.n, err)
		}
	}
	switch p.rng.IntN(5) {
	case 0, 1:
		p.hold(ctx, "hold_release", op)
		p.h.publish(op.ids)
	case 2, 3:
		p.hold(ctx, "hold_cancel", op)
		p.h.dropped.Add(int64(len(op.ids)))
	default:
		p.h.mu.Lock()
		p.h.open[op.hold.Operation] = op
		p.h.mu.Unlock()
	}
}

func (p *producer) hold(ctx context.Context, function string, op *operation) {
	_, err := p.s.db.Pool.Exec(ctx, "SELECT outbox."+function+"($1, $2, 'test')", op.hold.Operation.String(), op.hold.Generation)
	if err != nil {
		p.s.t.Errorf("producer %d: %s: %v", p.n, function, err)
	}
}

func (p *producer) pause(ctx context.Context) {
	if p.rng.IntN(3) == 0 {
		pause(ctx, time.Duration(p.rng.ExpFloat64()*float64(15*time.Millisecond)))
	}
}

// versions makes n events of a key that count from a version on.
func versions(key string, from, n int) []event.Event {
	list := events(key, n)
	for i := range list {
		list[i].SetExtension("version", from+i)
	}
	return list
}

func (h *history) publish(ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		h.published[id] = true
	}
}

// releaseOpen releases half of what is still held and leaves the rest held.
func (h *history) releaseOpen(t *testing.T, s *setup) {
	leave := false
	for _, op := range h.open {
		if leave = !leave; leave {
			continue
		}
		s.exec("SELECT outbox.hold_release($1, 1, 'test')", op.hold.Operation.String())
		h.publish(op.ids)
	}
}

// verify compares the stream with the model: no loss, no phantom, nothing dropped or held,
// every key in order, every event settled once.
func (h *history) verify(t *testing.T, s *setup) {
	t.Helper()
	seen := map[string]bool{}
	version := map[string]int32{}
	for _, m := range s.inStream() {
		if !h.published[m.ID()] {
			t.Errorf("stream sequence %d: event %s was rolled back, dropped or is held", m.seq, m.ID())
		}
		if seen[m.ID()] {
			continue // a duplicate that outlived the window is not a violation of order
		}
		seen[m.ID()] = true
		key, _ := m.Extensions()["partitionkey"].(string)
		if key == "" {
			continue
		}
		v := extensionInt(m.Event, "version")
		if v <= version[key] {
			t.Errorf("stream sequence %d: key %s: version %d after %d", m.seq, key, v, version[key])
		}
		version[key] = v
	}
	for id := range h.published {
		if !seen[id] {
			t.Errorf("event %s is lost", id)
		}
	}
	if n := query[int64](s, "SELECT coalesce(sum(events), 0) FROM outbox.outbox_batch"); n != int64(len(h.published)) {
		t.Errorf("%d events were settled, want %d, each once", n, len(h.published))
	}
}

func extensionInt(e event.Event, name string) int32 {
	var n int32
	if _, err := fmt.Sscan(fmt.Sprint(e.Extensions()[name]), &n); err != nil {
		return -1
	}
	return n
}
