package walk_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

// TestWorkQueueIsRead, which has no second consumer, and nothing is taken away from its worker.
func TestWorkQueueIsRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, outboxtest.NewNATS(t).URL())
	if err := b.js.DeleteStream(t.Context(), streamName); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.stream, err = b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Retention: jetstream.WorkQueuePolicy}); err != nil {
		t.Fatal(err)
	}
	worker, err := b.stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "worker", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	b.publish(0, 1000)
	b.wants(b.walk(t.Context(), b.info(), walk.Config{}, nil), 1, 1000)
	b.wants(b.walk(t.Context(), b.info(), walk.Config{From: 500, HeadersOnly: true}, nil), 500, 1000)
	b.wants(b.walk(t.Context(), b.info(), walk.Config{}, func() { b.publish(1000, 1010) }), 1, 1000)
	b.wants(b.walk(t.Context(), b.info(), walk.Config{}, func() { b.delete(901, 1010) }), 1, 900)
	if info, err := worker.Info(t.Context()); err != nil || info.NumPending != 900 {
		t.Errorf("the worker has %+v, %v", info, err)
	}
	r := b.walk(t.Context(), b.info(), walk.Config{}, func() {
		if err := b.js.DeleteStream(t.Context(), streamName); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(r.err, jetstream.ErrStreamNotFound) || len(r.seqs) == 900 {
		t.Errorf("%d messages: %v", len(r.seqs), r.err)
	}
}
