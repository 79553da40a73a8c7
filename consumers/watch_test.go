package consumers_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go/jetstream"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox"
)

// TestSilenceIsNoticed: messages are pending, all that may wait for an answer do, and none arrives.
func TestSilenceIsNoticed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.MaxAckPending, cfg.AckWait = 2, time.Minute
	cfg.FetchWait, cfg.SilentAfter, cfg.MeasureEvery = 100*time.Millisecond, 150*time.Millisecond, 100*time.Millisecond
	plan, err := consumers.PlanConsumer(t.Context(), b.js, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(t.Context(), b.js); err != nil {
		t.Fatal(err)
	}
	leak, err := b.js.Consumer(t.Context(), streamName, "ledger")
	if err != nil {
		t.Fatal(err)
	}
	b.some(4)
	batch, err := leak.Fetch(2) // by somebody who never answers
	if err != nil {
		t.Fatal(err)
	}
	var taken []jetstream.Msg
	for msg := range batch.Messages() {
		taken = append(taken, msg)
	}
	b.run(apply, cfg)
	b.wait("the silence is counted", func() bool { return b.metric("holdfast.consumer.silences", "") > 0 })
	b.wait("the log says why nothing arrives", func() bool {
		log := b.log.String()
		return strings.Contains(log, "none arrives") && strings.Contains(log, "ack_pending_full=true")
	})
	b.wait("the gauges show it", func() bool {
		return b.metric("holdfast.consumer.ack.pending", "") == 2 && b.metric("holdfast.consumer.pending", "") == 2
	})
	for _, msg := range taken {
		if err := msg.NakWithDelay(time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	b.wait("all are applied", func() bool { return b.deliveries("applied") == 4 })
	b.settled()
}

// TestAdvisoriesAreHeardAndNotTrusted: whoever sends one, about whatever, it is counted and told, and decides nothing.
func TestAdvisoriesAreHeardAndNotTrusted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.Attempts = 3
	inside, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if e.ID() == "poison" {
			return errBoom
		}
		once.Do(func() { close(inside); <-goOn })
		return apply(ctx, tx, e)
	}, cfg)
	b.some(1)
	<-inside
	advise := func(text string) {
		t.Helper()
		if err := b.js.Conn().Publish("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES."+streamName+".ledger", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	advise(`{"stream_seq": 1, "deliveries": 5}`) // of what is being handled
	advise(`{"stream_seq": 77, "deliveries": 5}`)
	advise("no advisory")
	b.wait("two are counted", func() bool { return b.metric("holdfast.consumer.broker.exhausted", "") == 2 })
	if log := b.log.String(); !strings.Contains(log, "stream_seq=77 deliveries=5") {
		t.Error("the log does not say which message it is about")
	}
	close(goOn)
	b.publish("poison", "refund.made", refund{ID: "re_p", Account: "acct_1", Amount: 1})
	b.wait("our own counter gives up", func() bool { return b.deliveries("applied") == 1 && b.deliveries("dead") == 1 })
	b.settled()
	b.wantEffects(1)
	if got := query[string](b, "SELECT event_id || ' ' || attempts FROM outbox.consumer_dead_letter"); len(got) != 1 || got[0] != "poison 3" {
		t.Errorf("dead letters are %q, want the poison after 3 attempts", got)
	}
	if n := b.metric("holdfast.consumer.broker.exhausted", ""); n != 2 {
		t.Errorf("%v advisories were counted, want 2", n)
	}
}

// TestConsumerThatWasDeletedIsMadeAgain, and the replay of everything changes nothing.
func TestConsumerThatWasDeletedIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(apply, b.config())
	b.some(3)
	b.wait("applied", func() bool { return b.deliveries("applied") == 3 })
	if err := b.js.DeleteConsumer(t.Context(), streamName, "ledger"); err != nil {
		t.Fatal(err)
	}
	b.wait("everything is replayed", func() bool { return b.deliveries("replayed") == 3 })
	b.some(1)
	b.wait("and it goes on", func() bool { return b.deliveries("applied") == 4 })
	b.settled()
	b.wantEffects(4)
}

// TestWhatWaitsForAPersonIsShown, and no series depends on what events say.
func TestWhatWaitsForAPersonIsShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.MeasureEvery = 100 * time.Millisecond
	if _, shown := b.shown("holdfast.consumer.quarantine", ""); shown {
		t.Error("shown before it was measured")
	}
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if e.ID() == "poison" {
			return consumers.Permanent(errBoom)
		}
		return apply(ctx, tx, e)
	}, cfg)
	for amount := range int64(3) {
		b.publish(strings.Repeat("x", int(amount)+1), "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: amount})
	}
	b.publish("poison", "refund.made", refund{ID: "re_1", Account: "acct_1"})
	b.wait("the gauges show it", func() bool {
		return b.metric("holdfast.consumer.quarantine", "") == 2 && b.metric("holdfast.consumer.dead.letters", "") == 1
	})
	if n := b.metric("messaging.process.duration", ""); n != 4 {
		t.Errorf("%v calls of the handler were timed, want 4", n)
	}
	if n := b.metric("holdfast.consumer.facts", "applied"); n != 1 {
		t.Errorf("%v facts were applied, want 1", n)
	}
}

// TestSpanLinksToItsCreation and is a root of its own.
func TestSpanLinksToItsCreation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spans := tracetest.NewInMemoryExporter()
	cfg := b.config()
	cfg.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	b.run(apply, cfg)
	const created = "0af7651916cd43dd8448eb211c80319c"
	b.publish("event-1", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 500}, func(r *outbox.Record) {
		r.Extensions = []byte(`{"traceparent": "00-` + created + `-b7ad6b7169203331-01"}`)
	})
	b.wait("the span has ended", func() bool { return len(spans.GetSpans()) == 1 })
	s := spans.GetSpans()[0]
	if s.Name != "process EVENTS" || len(s.Links) != 1 || s.Links[0].SpanContext.TraceID().String() != created || s.Parent.IsValid() {
		t.Errorf("span is %s with links %v and parent %v", s.Name, s.Links, s.Parent)
	}
}

// TestPrune removes what is old, skips what is locked, and leaves facts and open dead letters.
func TestPrune(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, err := consumers.New(b.Pool, b.connect(), apply, b.config())
	if err != nil {
		t.Fatal(err)
	}
	b.exec(`INSERT INTO outbox.consumer_inbox (consumer, event_source, event_id, received_at, processed_at)
		SELECT 'ledger', '/s', 'old-' || n, now() - interval '31 days', now() FROM generate_series(1, 2500) AS n`)
	b.exec(`INSERT INTO outbox.consumer_inbox (consumer, event_source, event_id, received_at) VALUES
		('ledger', '/s', 'young', now() - interval '29 days'), ('another', '/s', 'old', now() - interval '31 days')`)
	for i, state := range []string{"dead", "replay_requested", "resolved", "discarded", "resolved"} {
		b.exec(`INSERT INTO outbox.consumer_dead_letter (consumer, stream, stream_seq, attempts, reason_code, reason_detail_sha256, state, changed_at)
			VALUES ('ledger', 'EVENTS', $1::int, 1, 'permanent', sha256('x'), $2, now() - CASE WHEN $1::int = 5 THEN interval '89 days' ELSE interval '91 days' END)`, i+1, state)
	}
	tx, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM outbox.consumer_inbox WHERE event_id = 'old-7' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	p, err := c.Prune(t.Context())
	if err != nil || p != (consumers.Pruned{Inbox: 2499, DeadLetters: 2}) {
		t.Errorf("pruned %+v, %v", p, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.count("outbox.consumer_inbox"); n != 3 {
		t.Errorf("the inbox has %d rows, want 3", n)
	}
	if left := query[int](b, "SELECT stream_seq::int FROM outbox.consumer_dead_letter ORDER BY 1"); len(left) != 3 || left[0] != 1 || left[1] != 2 || left[2] != 5 {
		t.Errorf("dead letters left are %v, want 1, 2 and 5", left)
	}
	if p, err := c.Prune(t.Context()); err != nil || p.Inbox != 1 {
		t.Errorf("pruned %+v, %v", p, err)
	}
}

// TestReplayAfterYears: the consumer was down for longer than any retention, prunes first, and
// applies each fact once all the same.
func TestReplayAfterYears(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	r := b.run(apply, cfg)
	b.some(3)
	b.wait("applied", func() bool { return b.deliveries("applied") == 3 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	b.exec("UPDATE outbox.consumer_inbox SET received_at = now() - interval '5 years', processed_at = now() - interval '5 years'")
	c, err := consumers.New(b.Pool, b.connect(), apply, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := c.Prune(t.Context()); err != nil || p.Inbox != 3 {
		t.Fatalf("pruned %+v, %v", p, err)
	}
	b.next = 0
	b.some(4)
	b.run(apply, cfg)
	b.wait("the old ones are replayed and the new one is applied", func() bool {
		return b.deliveries("replayed") == 3 && b.deliveries("applied") == 4
	})
	b.settled()
	b.wantEffects(4)
}
