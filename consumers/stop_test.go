package consumers_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox"
)

// TestPause: nothing is acknowledged, nothing is written, and nothing is lost or counted.
func TestPause(t *testing.T) {
	t.Parallel()
	b := setup(t)
	control, err := consumers.NewControl(b.Pool, "")
	if err != nil {
		t.Fatal(err)
	}
	inside, goOn := make(chan struct{}), make(chan struct{})
	var first sync.Once
	cfg := b.config()
	cfg.Group, cfg.Attempts = "money", 1
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		first.Do(func() {
			close(inside)
			<-goOn
		})
		return apply(ctx, tx, e)
	}, cfg)
	b.some(1)
	<-inside
	if changed, err := control.Pause(t.Context(), "money", "me", "a repair"); err != nil || !changed {
		t.Fatalf("pause: %t, %v", changed, err)
	}
	if changed, err := control.Pause(t.Context(), "money", "you", "again"); err != nil || changed {
		t.Fatalf("pause again: %t, %v", changed, err)
	}
	close(goOn) // its transaction has not written its last statement
	b.wait("it is given back", func() bool { return b.deliveries("paused") >= 1 })
	b.some(2)
	b.wait("the metric shows the pause", func() bool { return b.metric("holdfast.consumer.paused", "") == 1 })
	b.wantEffects(0)
	if _, err := mustApplier(b, cfg).Apply(t.Context(), newEvent(t, "event-x", refund{ID: "re_x", Account: "acct_1", Amount: 1})); consumers.Classify(err) != consumers.Held {
		t.Errorf("another writer of the group got %v", err)
	}
	state, err := control.State(t.Context(), "money")
	if err != nil || !state.Paused || state.By != "me" || state.Reason != "a repair" {
		t.Errorf("state is %+v, %v", state, err)
	}
	if changed, err := control.Resume(t.Context(), "money", "me", "repaired"); err != nil || !changed {
		t.Fatalf("resume: %t, %v", changed, err)
	}
	b.wait("all are applied", func() bool { return b.deliveries("applied") == 3 })
	b.settled()
	b.wantEffects(3)
	if n := b.count("outbox.consumer_dead_letter"); n != 0 {
		t.Errorf("%d dead letters of a pause", n)
	}
}

func mustApplier(b *bundle, cfg consumers.Config) *consumers.Applier {
	b.t.Helper()
	return newApplier(b, b.Pool, apply, cfg)
}

func newApplier(b *bundle, pool *pgxpool.Pool, handle consumers.Handler, cfg consumers.Config) *consumers.Applier {
	b.t.Helper()
	a, err := consumers.NewApplier(pool, handle, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

func newEvent(t *testing.T, id string, r refund) event.Event {
	t.Helper()
	e := event.New()
	e.SetID(id)
	e.SetSource("/shop")
	e.SetType("refund.made")
	if err := e.SetData("application/json", r); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestOneKeyAtATime: in the order of delivery, while other keys go on.
func TestOneKeyAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mu sync.Mutex
	running, order := map[string]int{}, map[string][]string{}
	blocked, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	cfg := b.config()
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		key := e.Extensions()["partitionkey"].(string)
		mu.Lock()
		running[key]++
		order[key] = append(order[key], e.ID())
		if running[key] > 1 {
			t.Errorf("%d messages of key %s at once", running[key], key)
		}
		mu.Unlock()
		if e.ID() == "event-1" {
			once.Do(func() { close(blocked) })
			<-goOn
		}
		err := apply(ctx, tx, e)
		mu.Lock()
		running[key]--
		mu.Unlock()
		return err
	}, cfg)
	for i := range 12 {
		key := fmt.Sprint("key-", i%2)
		b.publish(fmt.Sprint("event-", i+1), "refund.made", refund{ID: fmt.Sprint("re_", i), Account: "acct_1", Amount: 500}, func(r *outbox.Record) { r.PartitionKey = key })
	}
	<-blocked
	b.wait("the other key goes on", func() bool { return b.deliveries("applied") == 6 })
	close(goOn)
	b.wait("all are applied", func() bool { return b.deliveries("applied") == 12 })
	b.settled()
	for i, key := range []string{"key-0", "key-1"} {
		want := []string{}
		for n := i + 1; n <= 12; n += 2 {
			want = append(want, fmt.Sprint("event-", n))
		}
		if !slices.Equal(order[key], want) {
			t.Errorf("order of %s is %v", key, order[key])
		}
	}
}

// TestSlowHandlerKeepsItsMessage: it is spoken for, for longer than the ack wait, and so is what
// waits behind it.
func TestSlowHandlerKeepsItsMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mu sync.Mutex
	spoken := map[string]int{} // by the message that it is about
	sub, err := b.connect().Subscribe("$JS.ACK."+streamName+".ledger.>", func(m *nats.Msg) {
		if string(m.Data) == "+WPI" {
			mu.Lock()
			defer mu.Unlock()
			spoken[m.Subject]++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }() // its connection is closed behind it
	release := make(chan struct{})
	var calls atomic.Int64
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if calls.Add(1) == 1 {
			<-release
		}
		return apply(ctx, tx, e)
	}, b.config())
	for i := range 2 {
		b.publish(fmt.Sprint("event-", i), "refund.made", refund{ID: fmt.Sprint("re_", i), Account: "acct_1", Amount: 500}, func(r *outbox.Record) { r.PartitionKey = "one" })
	}
	b.wait("both are spoken for", func() bool {
		mu.Lock()
		defer mu.Unlock()
		long := 0
		for _, n := range spoken {
			if n >= 4 { // every third of the ack wait
				long++
			}
		}
		return long >= 2
	})
	close(release)
	b.wait("both are applied", func() bool { return b.deliveries("applied") == 2 })
	b.settled()
	b.wantEffects(2)
}

// TestPanicsOfTheServiceEndNoProcess: neither of what reads a message nor of a probe or a proof.
func TestPanicsOfTheServiceEndNoProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*consumers.Config)
		want   string
	}{
		"the key":   {func(cfg *consumers.Config) { cfg.Key = func(event.Event) string { panic("key") } }, "panicked 2"},
		"the probe": {func(cfg *consumers.Config) { cfg.Probe = func(event.Event) (facts.Fact, bool) { panic("probe") } }, "panicked 2"},
		"the proof": {func(cfg *consumers.Config) {
			cfg.Effects = nil
			cfg.Proof = func(context.Context, consumers.Querier, facts.Claimed) (consumers.Evidence, error) { panic("proof") }
		}, "panicked 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			cfg := b.config()
			cfg.Attempts = 2
			c.change(&cfg)
			b.run(apply, cfg)
			b.some(1)
			b.wait("it is given up", func() bool { return b.deliveries("dead") == 1 })
			b.settled()
			b.wantEffects(0)
			if got := query[string](b, "SELECT reason_code || ' ' || attempts FROM outbox.consumer_dead_letter"); len(got) != 1 || got[0] != c.want {
				t.Errorf("dead letters are %q, want %q", got, c.want)
			}
		})
	}
}

// TestStop: what is being handled is finished, what waits is given back.
func TestStop(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inside, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r := b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		once.Do(func() { close(inside) })
		<-goOn
		return apply(ctx, tx, e)
	}, b.config())
	for i := range 3 {
		b.publish(fmt.Sprint("event-", i), "refund.made", refund{ID: fmt.Sprint("re_", i), Account: "acct_1", Amount: 500}, func(r *outbox.Record) { r.PartitionKey = "one" })
	}
	<-inside
	b.wait("all are held", func() bool { return b.metric("holdfast.consumer.held", "") == 3 })
	r.stop()
	close(goOn)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	b.wantEffects(1)
	if a, s := b.deliveries("applied"), b.deliveries("stopped"); a != 1 || s != 2 {
		t.Errorf("%v applied and %v given back, want 1 and 2", a, s)
	}
	b.run(apply, b.config())
	b.wait("the next pod applies the rest", func() bool { return b.count("public.refund") == 3 })
	b.settled()
}

// TestStopCutsWhatHangs: rolled back, and delivered again.
func TestStopCutsWhatHangs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inside := make(chan struct{})
	cfg := b.config()
	cfg.StopTimeout = 50 * time.Millisecond
	r := b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if err := apply(ctx, tx, e); err != nil {
			return err
		}
		close(inside)
		<-ctx.Done()
		return ctx.Err()
	}, cfg)
	b.some(1)
	<-inside
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	b.wantEffects(0)
	b.run(apply, b.config())
	b.wait("the next pod applies it", func() bool { return b.count("public.refund") == 1 })
	b.settled()
	if n := b.count("outbox.consumer_dead_letter"); n != 0 {
		t.Errorf("%d dead letters of a stop", n)
	}
}
