package walk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

// TestStreamIsReadToItsEnd: to the message that was the last when it was described, or behind what is left.
func TestStreamIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, outboxtest.NewNATS(t).URL())
	b.wants(b.walk(t.Context(), b.info(), walk.Config{}, nil), 1, 0) // an empty one
	b.publish(0, many)
	described := b.info()
	b.wants(b.walk(t.Context(), described, walk.Config{}, nil), 1, many)
	b.wants(b.walk(t.Context(), described, walk.Config{From: 100, HeadersOnly: true}, nil), 100, many)
	b.wants(b.walk(t.Context(), described, walk.Config{From: many + 1}, nil), 1, 0)
	b.wants(b.walk(t.Context(), described, walk.Config{Since: time.Now().Add(time.Hour)}, nil), 1, 0)
	b.wants(b.walk(t.Context(), described, walk.Config{}, func() { b.publish(many, many+10) }), 1, many)

	b.delete(many+1, many+10)
	tail := b.info()
	b.wants(b.walk(t.Context(), tail, walk.Config{}, nil), 1, many)
	b.wants(b.walk(t.Context(), tail, walk.Config{From: many + 5}, nil), 1, 0)
	b.wants(b.walk(t.Context(), tail, walk.Config{Since: time.Now().Add(time.Hour)}, nil), 1, 0)
	wrong := errors.New("wrong")
	err := walk.Stream(t.Context(), b.js, tail, walk.Config{}, func(walk.Message) error { return wrong })
	if !errors.Is(err, wrong) || err.Error() != "wrong" {
		t.Errorf("whom it hands messages to fails: %v", err)
	}
}

// TestStreamThatLosesItsTail while it is read: what was not deleted comes, and nothing is waited for.
func TestStreamThatLosesItsTail(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, outboxtest.NewNATS(t).URL())
	b.publish(0, many)
	r := b.walk(t.Context(), b.info(), walk.Config{}, func() { b.delete(many-9, many) })
	b.wants(r, 1, max(many-10, uint64(len(r.seqs)))) // some of the ten may have been on their way
	r = b.walk(t.Context(), b.info(), walk.Config{}, func() {
		if err := b.stream.Purge(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if b.wants(r, 1, uint64(len(r.seqs))); len(r.seqs) == many {
		t.Error("the whole stream was read before it was purged")
	}
}

// TestReadingGoesOn after what it reads with was lost, and hands on each message once.
func TestReadingGoesOn(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(b *bench, server *harness.NATS, proxy *fault.NATSProxy) error{
		"the broker restarts": func(_ *bench, server *harness.NATS, _ *fault.NATSProxy) error {
			server.Stop()
			return server.Start()
		},
		"the consumer is deleted": func(b *bench, _ *harness.NATS, _ *fault.NATSProxy) error {
			for name := range b.stream.ConsumerNames(b.t.Context()).Name() {
				if err := b.stream.DeleteConsumer(b.t.Context(), name); err != nil {
					return err
				}
			}
			return nil
		},
		"messages are lost with the connection": func(_ *bench, _ *harness.NATS, proxy *fault.NATSProxy) error {
			if proxy.CutAll() == 0 {
				return errors.New("there was no connection")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := outboxtest.NewNATS(t)
			proxy, err := fault.NewNATSProxy(server.URL())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = proxy.Close() })
			b := newBench(t, 1, proxy.URL())
			b.publish(0, many)
			slow := proxy.AddLink(fault.LinkRule{Fault: fault.Slow, BytesPerSecond: 1 << 20}) // so that many are on their way
			r := b.walk(t.Context(), b.info(), walk.Config{}, func() {
				defer slow.Remove()
				if err := lose(b, server, proxy); err != nil {
					t.Error(err)
				}
			})
			b.wants(r, 1, many)
		})
	}
}

// TestReadingThatCannotEnd is an error that says why, and no part of a stream passes for all of it.
func TestReadingThatCannotEnd(t *testing.T) {
	t.Parallel()
	remove := func(b *bench) {
		if err := b.js.DeleteStream(b.t.Context(), streamName); err != nil {
			b.t.Error(err)
		}
	}
	for _, c := range []struct {
		name  string
		then  func(b *bench, stop func(), cancel func())
		is    error
		says  string
		whole bool
	}{
		{name: "the stream is deleted", then: func(b *bench, _, _ func()) { remove(b) }, is: jetstream.ErrStreamNotFound},
		{name: "the stream is made anew", then: func(b *bench, _, _ func()) {
			remove(b)
			b.create(1)
			b.publish(0, many+10)
		}, is: walk.ErrChanged},
		{name: "the broker is away", then: func(_ *bench, stop, _ func()) { stop() }, says: "no message within 500ms, and its end was not reached"},
		{name: "it is cancelled while the broker is away", then: func(_ *bench, stop, cancel func()) {
			stop()
			cancel()
		}, is: context.Canceled, whole: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := outboxtest.NewNATS(t)
			b := newBench(t, 1, server.URL())
			b.publish(0, many)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cfg := walk.Config{Patience: limit}
			if c.says != "" {
				cfg.Patience = 500 * time.Millisecond
			}
			r := b.walk(ctx, b.info(), cfg, func() { c.then(b, server.Stop, cancel) })
			var end *walk.EndError
			if r.err == nil || len(r.seqs) == many || c.is != nil && !errors.Is(r.err, c.is) {
				t.Fatalf("%d messages: %v", len(r.seqs), r.err)
			}
			if c.whole {
				return
			}
			if !errors.As(r.err, &end) || end.After != uint64(len(r.seqs)) || outbox.Hint(r.err) == "" || !strings.Contains(r.err.Error(), c.says) {
				t.Errorf("%d messages: %v", len(r.seqs), r.err)
			}
		})
	}
}

// TestReadingTellsWhatTheBrokerRefuses at once: no waiting mends it.
func TestReadingTellsWhatTheBrokerRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, outboxtest.NewNATS(t).URL())
	b.publish(0, 10)
	if _, err := b.js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, MaxConsumers: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "the-only-one"}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r := b.walk(t.Context(), b.info(), walk.Config{Patience: limit}, nil)
	var api *jetstream.APIError
	if !errors.As(r.err, &api) || api.ErrorCode != 10026 || time.Since(began) > limit/2 {
		t.Errorf("after %s: %v", time.Since(began), r.err)
	}
}
