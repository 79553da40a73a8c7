package consumers_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestEventsOfTheHandlerAreStagedOnce: with the effect or not at all, so that nothing is published
// again under another id, also when the inbox has forgotten the delivery.
func TestEventsOfTheHandlerAreStagedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var failed atomic.Bool
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		fact, r, err := factOf(e)
		if err != nil {
			return err
		}
		claimed, err := facts.Claim(ctx, tx, fact)
		if err != nil || claimed.Outcome != facts.Applied {
			return err
		}
		var effect string
		if err := tx.QueryRow(ctx, `INSERT INTO public.refund (fact_id, account, amount) VALUES ($1, $2, $3) RETURNING 'booked-' || id`,
			claimed.ID, r.Account, r.Amount).Scan(&effect); err != nil {
			return err
		}
		booked := event.New()
		booked.SetID(effect)
		booked.SetSource("/ledger")
		booked.SetType("refund.booked")
		if _, err := outbox.PublishTx(ctx, tx, booked); err != nil {
			return err
		}
		if !failed.Swap(true) {
			return errBoom
		}
		return nil
	}, b.config())
	b.some(1)
	b.wait("applied", func() bool { return b.deliveries("applied") == 1 && b.deliveries("failed") == 1 })
	b.exec("UPDATE outbox.consumer_inbox SET processed_at = NULL")
	b.next = 0
	b.some(1)
	b.wait("replayed", func() bool { return b.deliveries("replayed") == 1 })
	b.settled()
	b.wantEffects(1)
	staged := outboxtest.Staged(t, b.Pool)
	if want := query[string](b, "SELECT 'booked-' || id FROM public.refund"); len(staged) != 1 || staged[0].ID != want[0] {
		t.Errorf("staged are %v, want the event of the only effect %v", staged, want)
	}
}

// TestWorkQueueForgetsItsWindow over a restart, and takes an id again: it has one effect all the same.
func TestWorkQueueForgetsItsWindow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "QUEUE", Subjects: []string{"queue.>"}, Retention: jetstream.WorkQueuePolicy}); err != nil {
		t.Fatal(err)
	}
	cfg := b.config()
	cfg.Stream = "QUEUE"
	b.run(apply, cfg)
	publish := func() *jetstream.PubAck {
		t.Helper()
		var ack *jetstream.PubAck
		b.wait("the queue takes it", func() bool {
			var err error
			ack, err = b.js.PublishMsg(t.Context(), &nats.Msg{
				Subject: "queue.refund", Data: []byte(`{"id":"re_1","account":"acct_1","amount":500}`),
				Header: nats.Header{
					"ce-specversion": {"1.0"}, "ce-id": {"event-1"}, "ce-source": {"/shop"}, "ce-type": {"refund.made"}, jetstream.MsgIDHeader: {"one"},
				},
			})
			return err == nil
		})
		return ack
	}
	publish()
	b.wait("applied", func() bool { return b.deliveries("applied") == 1 })
	b.wait("the queue is empty", func() bool {
		s, err := b.js.Stream(t.Context(), "QUEUE")
		return err == nil && s.CachedInfo().State.Msgs == 0
	})
	b.nats.Stop()
	if err := b.nats.Start(); err != nil {
		t.Fatal(err)
	}
	if ack := publish(); ack.Duplicate {
		t.Log("this server remembers the id: the second delivery is asked for under another one")
		if _, err := b.js.PublishMsg(t.Context(), &nats.Msg{
			Subject: "queue.refund", Data: []byte(`{"id":"re_1","account":"acct_1","amount":500}`),
			Header: nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"event-1"}, "ce-source": {"/shop"}, "ce-type": {"refund.made"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	b.wait("replayed", func() bool { return b.deliveries("replayed") == 1 })
	b.wantEffects(1)
}

// TestNoFactIsToldByTwoNames: what another writer of the effects applied is a replay to the consumer.
func TestNoFactIsToldByTwoNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	webhook, err := consumers.NewApplier(b.Pool, apply, func() consumers.Config {
		cfg := b.config()
		cfg.Name = "webhook"
		return cfg
	}())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := webhook.Apply(t.Context(), newEvent(t, "hook-1", refund{ID: "re_1", Account: "acct_1", Amount: 500})); err != nil || r.Outcome != consumers.Applied {
		t.Fatalf("webhook: %v, %v", r.Outcome, err)
	}
	b.run(apply, b.config())
	b.some(1)
	b.wait("replayed", func() bool { return b.deliveries("replayed") == 1 })
	b.settled()
	b.wantEffects(1)
}
