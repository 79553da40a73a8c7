package consumers_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

var errBoom = errors.New("boom")

// TestPoisonIsCountedAndGivenUp: by our own counter, whose row is written before the broker is told.
func TestPoisonIsCountedAndGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err      error
		last     error // from the second attempt on
		panics   bool
		attempts int
		want     string
	}{
		"fails":                {err: errBoom, attempts: 3, want: "event-1 refund.made exhausted 3"},
		"is permanent":         {err: consumers.Permanent(errBoom), attempts: 3, want: "event-1 refund.made permanent 1"},
		"has a bad key":        {err: &facts.KeyError{Reason: "has no parts"}, attempts: 3, want: "event-1 refund.made permanent 1"},
		"panics":               {panics: true, attempts: 2, want: "event-1 refund.made panicked 2"},
		"is permanent at last": {err: errBoom, last: consumers.Permanent(errBoom), attempts: 9, want: "event-1 refund.made permanent 2"},
		"hangs for a while":    {err: context.DeadlineExceeded, attempts: 2, want: "event-1 refund.made exhausted 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			cfg := b.config()
			cfg.Attempts = c.attempts
			var calls atomic.Int64
			b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
				switch {
				case e.ID() != "event-1":
					return apply(ctx, tx, e)
				case c.panics:
					panic("as it should")
				case calls.Add(1) > 1 && c.last != nil:
					return c.last
				}
				return c.err
			}, cfg)
			b.some(3)
			b.wait("it is given up and the others are applied", func() bool { return b.deliveries("dead") == 1 && b.deliveries("applied") == 2 })
			b.settled()
			b.wantEffects(2)
			got := query[string](b, "SELECT concat_ws(' ', event_id, event_type, reason_code, attempts) FROM outbox.consumer_dead_letter WHERE stream_seq = 1 AND state = 'dead'")
			if len(got) != 1 || got[0] != c.want {
				t.Errorf("dead letters are %q, want %q", got, c.want)
			}
			if c.err != nil && c.last == nil { // the text of the error is kept as a digest
				digest := sha256.Sum256([]byte(c.err.Error()))
				if kept := query[[]byte](b, "SELECT reason_detail_sha256 FROM outbox.consumer_dead_letter")[0]; !bytes.Equal(kept, digest[:]) {
					t.Errorf("the digest is %x, want that of %q", kept, c.err)
				}
			}
			if n := b.count("outbox.consumer_dead_letter_history"); n != 1 {
				t.Errorf("history has %d rows, want 1", n)
			}
		})
	}
}

// TestPoisonHoldsNobodyOfItsKey: what is behind it in its key goes on while it waits for another attempt.
func TestPoisonHoldsNobodyOfItsKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.RetryMin, cfg.RetryMax, cfg.OutageMax = time.Hour, time.Hour, time.Hour
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if e.ID() == "event-1" {
			return errBoom
		}
		return apply(ctx, tx, e)
	}, cfg)
	for i := range 4 {
		b.publish(fmt.Sprint("event-", i), "refund.made", refund{ID: fmt.Sprint("re_", i), Account: "acct_1", Amount: 500}, func(r *outbox.Record) { r.PartitionKey = "one" })
	}
	b.wait("the others are applied", func() bool { return b.deliveries("applied") == 3 && b.deliveries("failed") == 1 })
	b.wantEffects(3)
}

// TestBrokerForgotThatAMessageWasGivenUp: it is neither handled nor written down again.
func TestBrokerForgotThatAMessageWasGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(`INSERT INTO outbox.consumer_dead_letter (consumer, stream, stream_seq, event_source, event_id, event_type, attempts, reason_code, reason_detail_sha256)
		VALUES ('ledger', 'EVENTS', 1, '/shop', 'event-1', 'refund.made', 3, 'permanent', sha256('boom')),
		       ('ledger', 'EVENTS', 2, '/shop', 'of a stream before', 'refund.made', 3, 'permanent', sha256('boom'))`)
	b.some(2)
	// Deliver both once without an answer, as to a pod that died before it told the broker.
	plan, err := consumers.PlanConsumer(t.Context(), b.js, b.config())
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(t.Context(), b.js); err != nil {
		t.Fatal(err)
	}
	c, err := b.js.Consumer(t.Context(), streamName, "ledger")
	if err != nil {
		t.Fatal(err)
	}
	batch, err := c.Fetch(2)
	if err != nil {
		t.Fatal(err)
	}
	for msg := range batch.Messages() {
		if err := msg.NakWithDelay(time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	cfg := b.config()
	cfg.Attempts = 1
	var handled sync.Map
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		handled.Store(e.ID(), true)
		return apply(ctx, tx, e)
	}, cfg)
	b.wait("one is given up and the other is applied", func() bool { return b.deliveries("dead") == 1 && b.deliveries("applied") == 1 })
	b.settled()
	if _, was := handled.Load("event-1"); was {
		t.Error("what was given up was handled again")
	}
	b.wantEffects(1)
	if n := b.count("outbox.consumer_dead_letter"); n != 2 {
		t.Errorf("%d dead letters, want 2", n)
	}
}

// TestAnotherEventsDeadLetterIsNotOverwritten: a stream that was made anew counts from one again.
func TestAnotherEventsDeadLetterIsNotOverwritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(`INSERT INTO outbox.consumer_dead_letter (consumer, stream, stream_seq, event_source, event_id, event_type, attempts, reason_code, reason_detail_sha256)
		VALUES ('ledger', 'EVENTS', 1, '/shop', 'of a stream before', 'refund.made', 3, 'permanent', sha256('boom'))`)
	b.some(1)
	b.run(func(context.Context, *facts.Tx, event.Event) error { return consumers.Permanent(errBoom) }, b.config())
	b.wait("it comes again and again", func() bool { return b.deliveries("failed") > 2 })
	b.exec("DELETE FROM outbox.consumer_dead_letter")
	b.wait("it is given up", func() bool { return b.deliveries("dead") == 1 })
	b.settled()
}

// TestOutageOfADependencyCountsNothing, and replays of known facts are absorbed by the probe meanwhile.
func TestOutageOfADependencyCountsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var away atomic.Bool
	away.Store(true)
	handle := func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if away.Load() {
			return consumers.Unavailable(errBoom)
		}
		return apply(ctx, tx, e)
	}
	cfg := b.config()
	cfg.Attempts = 1
	cfg.Probe = func(e event.Event) (facts.Fact, bool) {
		fact, _, err := factOf(e)
		fact.Attributes = nil
		return fact, err == nil
	}
	b.run(handle, cfg)
	b.some(1)
	b.wait("it comes again and again", func() bool { return b.deliveries("outage") > 12 })
	away.Store(false)
	b.wait("applied", func() bool { return b.deliveries("applied") == 1 })
	away.Store(true)
	b.next = 0
	b.some(1)
	b.wait("absorbed", func() bool { return b.deliveries("replayed") == 1 })
	b.settled()
	b.wantEffects(1)
	if n := b.count("outbox.consumer_dead_letter"); n != 0 {
		t.Errorf("%d dead letters of an outage", n)
	}
	if got := query[int](b, "SELECT deliveries FROM outbox.consumer_inbox"); !slices.Equal(got, []int{2}) {
		t.Errorf("the inbox counts %v deliveries, want 2", got)
	}
}

// TestProbeLeavesDifferencesToTheHandler: only a claim may judge.
func TestProbeLeavesDifferencesToTheHandler(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.Probe = func(e event.Event) (facts.Fact, bool) {
		fact, _, err := factOf(e)
		return fact, err == nil
	}
	b.run(apply, cfg)
	b.publish("event-1", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 500})
	b.wait("applied", func() bool { return b.deliveries("applied") == 1 })
	b.publish("event-2", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 501})
	b.wait("quarantined", func() bool { return b.deliveries("quarantined") == 1 })
	b.settled()
	b.wantEffects(1)
}

// TestForeignMessages: by policy; a broken event is always a dead letter.
func TestForeignMessages(t *testing.T) {
	t.Parallel()
	for _, policy := range []consumers.Foreign{consumers.ForeignDeadLetter, consumers.ForeignSkip} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			cfg := b.config()
			cfg.Foreign = policy
			b.run(apply, cfg)
			b.send(&nats.Msg{Subject: "events.foreign", Header: nats.Header{}, Data: []byte("hello")})
			b.send(&nats.Msg{Subject: "events.broken", Header: nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"x"}}})
			b.send(&nats.Msg{Subject: "events.long", Header: nats.Header{
				"ce-specversion": {"1.0"}, "ce-id": {strings.Repeat("x", 256)}, "ce-source": {"/shop"}, "ce-type": {"t"},
			}})
			b.some(1)
			b.wait("all are settled", func() bool { return b.deliveries("") == 4 })
			b.settled()
			b.wantEffects(1)
			want := []string{"2 malformed", "3 malformed"}
			if policy == consumers.ForeignDeadLetter {
				want = append([]string{"1 not_an_event"}, want...)
			} else if n := b.deliveries("foreign"); n != 1 {
				t.Errorf("%v foreign messages were skipped, want 1", n)
			}
			if got := query[string](b, "SELECT stream_seq || ' ' || reason_code FROM outbox.consumer_dead_letter ORDER BY stream_seq"); !slices.Equal(got, want) {
				t.Errorf("dead letters are %q, want %q", got, want)
			}
		})
	}
}

// TestStructuredAndBinaryEvents are one to the handler.
func TestStructuredAndBinaryEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(apply, b.config())
	b.publish("event-1", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 500})
	rec := outbox.Record{ID: "event-1", Source: "/shop", Type: "refund.made", DataContentType: "application/json", Data: []byte(`{"id":"re_1","account":"acct_1","amount":500}`)}
	enc, err := wire.NewEncoder(wire.Config{Mode: wire.Structured})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := enc.Encode(&rec)
	if err != nil {
		t.Fatal(err)
	}
	b.send(msg)
	b.wait("both are acknowledged", func() bool { return b.deliveries("applied") == 1 && b.deliveries("replayed") == 1 })
	b.settled()
	b.wantEffects(1)
}

// TestConfigErrors names every setting that cannot work.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	var wrong *consumers.ConfigError
	_, err := consumers.New(nil, nil, nil, consumers.Config{
		Name: "a.b", Stream: "", AckWait: time.Millisecond, InboxRetention: time.Minute, RetryMin: -1,
		Effects: map[string]consumers.Effect{"refund": {}},
	})
	if !errors.As(err, &wrong) || len(wrong.Problems) != 7 {
		t.Errorf("problems are %v", err)
	}
	if !strings.Contains(err.Error(), "the inbox counts attempts") {
		t.Errorf("error is %v", err)
	}
}
