package walk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

// TestReadingLeavesNothing: where messages stay for those that are interested in them, a consumer that was left would
// keep them, however the reading ended.
func TestReadingLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, outboxtest.NewNATS(t).URL())
	worker := b.remake(jetstream.InterestPolicy, 1)
	b.publish(0, 100)
	b.wants(b.walk(t.Context(), b.info(), walk.Config{}, nil), 1, 100)
	b.onlyTheWorker()
	wrong := errors.New("wrong")
	if err := walk.Stream(t.Context(), b.js, b.info(), walk.Config{}, func(walk.Message) error { return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	b.onlyTheWorker()
	ctx, cancel := context.WithCancel(t.Context())
	if r := b.walk(ctx, b.info(), walk.Config{HeadersOnly: true}, cancel); r.err != nil && !errors.Is(r.err, context.Canceled) {
		t.Error(r.err)
	}
	b.onlyTheWorker()

	b.publish(100, 200)
	for range 200 {
		msg, err := worker.Next(jetstream.FetchMaxWait(generous))
		if err == nil {
			err = msg.DoubleAck(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b.eventually("what the worker has done is gone", func(ctx context.Context) error {
		info, err := b.stream.Info(ctx)
		if err == nil && info.State.Msgs > 0 {
			err = fmt.Errorf("%d messages are left", info.State.Msgs)
		}
		return err
	})
}

// TestReadingTakesOnePlace of those that a stream has for consumers, also when the answer to its making is lost.
func TestReadingTakesOnePlace(t *testing.T) {
	t.Parallel()
	proxy, err := fault.NewNATSProxy(outboxtest.NewNATS(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	b := newBench(t, 1, proxy.URL())
	b.publish(0, 100)
	if _, err := b.js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, MaxConsumers: 1}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.wants(b.walk(t.Context(), b.info(), walk.Config{}, nil), 1, 100)
	}
	lost := proxy.Add(fault.NATSRule{Match: fault.AtSubject(fault.OnResponse, "$JS.API.CONSUMER.CREATE."), Do: fault.Swallow(), Times: 1})
	b.wants(b.walk(t.Context(), b.info(), walk.Config{Patience: limit}, nil), 1, 100)
	if lost.Hits() == 0 {
		t.Error("no answer was lost")
	}
	b.onlyTheWorker()
}
