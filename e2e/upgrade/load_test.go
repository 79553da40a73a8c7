package upgrade_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/history"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	writers  = 3 // and as many who hold what they write, and release it
	patience = 2 * time.Minute
)

// load is services of the old release: they stage events from the beginning of an upgrade to its
// end, and no statement of theirs may fail.
type load struct {
	t         *testing.T
	db        *outboxtest.Database
	stop      context.CancelFunc
	all       sync.WaitGroup
	committed atomic.Int64

	mu    sync.Mutex     // guards wrote
	wrote map[string]int // how many events of each key were committed and released
}

func startLoad(t *testing.T, db *outboxtest.Database) *load {
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{t: t, db: db, stop: cancel, wrote: map[string]int{}}
	for w := range writers {
		l.all.Go(func() { l.write(ctx, fmt.Sprintf("plain-%d", w), l.stage) })
		l.all.Go(func() { l.write(ctx, fmt.Sprintf("held-%d", w), l.stageHeld) })
	}
	t.Cleanup(l.end)
	return l
}

// end lets everybody finish what they are at.
func (l *load) end() {
	l.stop()
	l.all.Wait()
}

func (l *load) write(ctx context.Context, key string, stage func(key string, version int) error) {
	for version := 1; ctx.Err() == nil; version++ {
		err := stage(key, version)
		if l.t.Context().Err() != nil {
			return // the test has ended before us
		}
		if err != nil {
			l.t.Errorf("stage event %d of %s: %v", version, key, err)
			return
		}
		l.committed.Add(1)
		l.mu.Lock()
		l.wrote[key] = version
		l.mu.Unlock()
	}
}

func (l *load) stage(key string, version int) error {
	return pgx.BeginFunc(l.t.Context(), l.db.Pool, func(tx pgx.Tx) error {
		_, err := outbox.PublishTx(l.t.Context(), tx, newEvent(key, version))
		return err
	})
}

// stageHeld holds the event in one transaction, and releases it in another.
func (l *load) stageHeld(key string, version int) error {
	hold := outbox.Hold{Operation: uuid.New(), Generation: 1}
	err := pgx.BeginFunc(l.t.Context(), l.db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(l.t.Context(), "SELECT outbox.hold_register($1, $2, 'load')", hold.Operation.String(), hold.Generation); err != nil {
			return err
		}
		_, err := outbox.PublishTxHeld(l.t.Context(), tx, hold, newEvent(key, version))
		return err
	})
	if err == nil {
		_, err = l.db.Pool.Exec(l.t.Context(), "SELECT outbox.hold_release($1, $2, 'load')", hold.Operation.String(), hold.Generation)
	}
	return err
}

func newEvent(key string, version int) event.Event {
	e := event.New()
	e.SetSource("/load")
	e.SetType("load.written")
	e.SetExtension("partitionkey", key)
	// A number is all there is to it, so this can't fail.
	_ = e.SetData(event.ApplicationJSON, map[string]int{"version": version})
	return e
}

// more waits until so many more events were committed.
func (l *load) more(n int64) {
	l.t.Helper()
	want := l.committed.Load() + n
	eventually(l.t, fmt.Sprintf("%d more events", n), func() bool { return l.committed.Load() >= want || l.t.Failed() })
}

// delivered waits until the stream has everything, and wants each event once and in order.
func (l *load) delivered(reader *history.Follower) {
	l.t.Helper()
	want := map[string]int{"seed-plain": 50, "seed-held": 5, "seed-dead": 1}
	total := 0
	for key, n := range l.wrote { // the writers have ended
		want[key] = n
	}
	for _, n := range want {
		total += n
	}
	eventually(l.t, fmt.Sprintf("all %d events are in the stream", total), func() bool {
		end, err := reader.AtEnd(l.t.Context())
		return err == nil && end && reader.Distinct() >= total
	})
	got := map[string]int{}
	for _, m := range reader.Messages() {
		if m.Fault != "" {
			l.t.Errorf("message %d %s", m.Sequence, m.Fault)
		}
		if got[m.Key]++; m.Version != got[m.Key] {
			l.t.Errorf("message %d of key %s is event %d, want %d", m.Sequence, m.Key, m.Version, got[m.Key])
		}
	}
	for key, n := range want {
		if got[key] != n {
			l.t.Errorf("the stream has %d events of key %s, want %d", got[key], key, n)
		}
	}
	if len(got) != len(want) {
		l.t.Errorf("the stream has %d keys, want %d", len(got), len(want))
	}
	l.t.Logf("%d events in the stream", len(reader.Messages()))
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	outboxtest.Eventually(t, patience, what, condition)
}
