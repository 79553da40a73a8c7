package consumers_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/consumers"
)

// TestExistingConsumerIsComparedAndNotChanged: a difference is refused, a plan changes it.
func TestExistingConsumerIsComparedAndNotChanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := jetstream.ConsumerConfig{Durable: "ledger", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 7 * time.Second, MaxDeliver: 5, MaxAckPending: 1000}
	if _, err := b.js.CreateConsumer(t.Context(), streamName, other); err != nil {
		t.Fatal(err)
	}
	r := b.run(apply, b.config())
	var differs *consumers.DifferenceError
	b.wait("the run ends", func() bool { return len(r.done) == 1 })
	if err := r.end(); !errors.As(err, &differs) || differs.Hint() == "" {
		t.Fatalf("error is %v, want a difference", err)
	}
	if text := differs.Error(); !strings.Contains(text, "ack wait is 7s, want 3s") || !strings.Contains(text, "max deliver is 5, want unlimited") {
		t.Errorf("difference is %q", text)
	}
	have, err := b.js.Consumer(t.Context(), streamName, "ledger")
	if err != nil || have.CachedInfo().Config.MaxDeliver != 5 || have.CachedInfo().Config.AckWait != 7*time.Second {
		t.Fatalf("the consumer was changed: %+v, %v", have.CachedInfo().Config, err)
	}
	plan, err := consumers.PlanConsumer(t.Context(), b.js, b.config())
	if err != nil || len(plan.Changes) != 2 {
		t.Fatalf("plan is %+v, %v", plan, err)
	}
	if err := plan.Apply(t.Context(), b.js); err != nil {
		t.Fatal(err)
	}
	b.some(1)
	b.run(apply, b.config())
	b.wait("applied", func() bool { return b.deliveries("applied") == 1 })
}

// TestWhatTheBrokerCannotChangeIsNotApplied: nothing is deleted.
func TestWhatTheBrokerCannotChangeIsNotApplied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.js.CreateConsumer(t.Context(), streamName, jetstream.ConsumerConfig{Durable: "ledger", AckPolicy: jetstream.AckNonePolicy}); err != nil {
		t.Fatal(err)
	}
	plan, err := consumers.PlanConsumer(t.Context(), b.js, b.config())
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(t.Context(), b.js); !errors.Is(err, consumers.ErrFixed) {
		t.Errorf("error is %v", err)
	}
}

// TestLoweredLimitOfDeliveriesIsNoticed while the consumer runs: the broker would stop in silence.
func TestLoweredLimitOfDeliveriesIsNoticed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.MeasureEvery = 100 * time.Millisecond
	r := b.run(apply, cfg)
	b.some(1)
	b.wait("applied", func() bool { return b.deliveries("applied") == 1 })
	have, err := b.js.Consumer(t.Context(), streamName, "ledger")
	if err != nil {
		t.Fatal(err)
	}
	changed := have.CachedInfo().Config
	changed.MaxDeliver = 2
	if _, err := b.js.UpdateConsumer(t.Context(), streamName, changed); err != nil {
		t.Fatal(err)
	}
	b.wait("the run ends", func() bool { return len(r.done) == 1 })
	var differs *consumers.DifferenceError
	if err := r.end(); !errors.As(err, &differs) {
		t.Errorf("error is %v, want a difference", err)
	}
	if n := b.metric("holdfast.consumer.drifts", ""); n != 1 {
		t.Errorf("%v drifts were counted, want 1", n)
	}
}
