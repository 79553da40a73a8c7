package consumers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

const (
	streamName = "EVENTS"
	// patience is for what should happen at once, on a machine that is busy.
	patience = 90 * time.Second
)

// effects is a service's own table.
const effectTable = `CREATE TABLE public.refund (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	fact_id bigint NOT NULL UNIQUE REFERENCES outbox.consumer_fact (id),
	account text NOT NULL, amount bigint NOT NULL)`

// bundle is a database with a service's table, a broker with a stream, and consumers.
type bundle struct {
	*outboxtest.Database
	t    *testing.T
	nats *harness.NATS
	js   jetstream.JetStream
	log  *outboxtest.Log
	read *sdkmetric.ManualReader
	told *sdkmetric.MeterProvider
	next int
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return setupIn(t, outboxtest.NewDatabase(t))
}

func setupIn(t *testing.T, db *outboxtest.Database) *bundle {
	t.Helper()
	b := &bundle{Database: db, t: t, nats: outboxtest.NewNATS(t), log: &outboxtest.Log{}, read: sdkmetric.NewManualReader()}
	b.told = sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.read))
	b.js = outboxtest.NewStream(t, b.nats.URL(), streamName, "events.>")
	b.exec(effectTable)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what the consumers logged:\n%s", b.log)
		}
	})
	return b
}

// config consumes fast, and proves the account and the amount.
func (b *bundle) config() consumers.Config {
	return consumers.Config{
		Name: "ledger", Stream: streamName, AckWait: 3 * time.Second, RetryMin: 2 * time.Millisecond, RetryMax: 20 * time.Millisecond,
		OutageMax: 50 * time.Millisecond, FetchWait: 300 * time.Millisecond, ControlEvery: 100 * time.Millisecond,
		Effects: map[string]consumers.Effect{
			"refund": {Table: "public.refund", Account: "account", Attributes: map[string]string{"amount": "amount"}},
		},
		MeterProvider: b.told,
		Logger:        slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// refund is what the events of these tests say.
type refund struct {
	ID      string `json:"id"`
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
}

func factOf(e event.Event) (facts.Fact, refund, error) {
	var r refund
	if err := json.Unmarshal(e.Data(), &r); err != nil {
		return facts.Fact{}, r, consumers.Permanent(err)
	}
	key, err := facts.NewKey(facts.ID("refund", r.ID))
	return facts.Fact{
		Source: "provider", Account: r.Account, Type: "refund", Key: key,
		Attributes: map[string]string{"amount": fmt.Sprint(r.Amount)},
	}, r, err
}

// apply is a handler as it should be.
func apply(ctx context.Context, tx *facts.Tx, e event.Event) error {
	fact, r, err := factOf(e)
	if err != nil {
		return err
	}
	claimed, err := facts.Claim(ctx, tx, fact)
	if err != nil || claimed.Outcome != facts.Applied {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO public.refund (fact_id, account, amount) VALUES ($1, $2, $3)`, claimed.ID, r.Account, r.Amount)
	return err
}

// connect makes a connection that reconnects for ever, as a consumer's should.
func (b *bundle) connect() *nats.Conn {
	b.t.Helper()
	nc, err := nats.Connect(b.nats.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(nc.Close)
	return nc
}

// running is a consumer that a test can stop.
type running struct {
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

func (b *bundle) run(handle consumers.Handler, cfg consumers.Config) *running {
	b.t.Helper()
	return b.runWith(b.Pool, b.connect(), handle, cfg)
}

func (b *bundle) runWith(pool *pgxpool.Pool, nc *nats.Conn, handle consumers.Handler, cfg consumers.Config) *running {
	b.t.Helper()
	c, err := consumers.New(pool, nc, handle, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: b.t, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- c.Run(ctx) }()
	b.t.Cleanup(func() { r.end() })
	return r
}

// end stops the consumer and returns what Run returned.
func (r *running) end() error {
	r.t.Helper()
	r.stop()
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-time.After(patience):
		r.t.Error("the consumer does not stop")
		return nil
	}
}

// publish publishes an event and returns its place in the stream.
func (b *bundle) publish(id, eventType string, r refund, change ...func(*outbox.Record)) uint64 {
	b.t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	rec := outbox.Record{ID: id, Source: "/shop", Type: eventType, PartitionKey: r.ID, DataContentType: "application/json", Data: data}
	for _, f := range change {
		f(&rec)
	}
	enc, err := wire.NewEncoder(wire.Config{})
	if err != nil {
		b.t.Fatal(err)
	}
	msg, err := enc.Encode(&rec)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.send(msg)
}

func (b *bundle) send(msg *nats.Msg) uint64 {
	b.t.Helper()
	msg.Header.Del(jetstream.MsgIDHeader) // so that an event can be published again
	ack, err := b.js.PublishMsg(b.t.Context(), msg)
	if err != nil {
		b.t.Fatal(err)
	}
	return ack.Sequence
}

// some publishes n refunds of one amount.
func (b *bundle) some(n int) {
	b.t.Helper()
	for range n {
		b.next++
		id := fmt.Sprint(b.next)
		b.publish("event-"+id, "refund.made", refund{ID: "re_" + id, Account: "acct_1", Amount: 500})
	}
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.Pool, sql, args...)
}

func query[T any](b *bundle, sql string, args ...any) []T {
	b.t.Helper()
	return outboxtest.All[T](b.t, b.Pool, sql, args...)
}

func (b *bundle) count(table string) int { return query[int](b, "SELECT count(*)::int FROM "+table)[0] }

// wait waits for a condition.
func (b *bundle) wait(what string, is func() bool) {
	b.t.Helper()
	outboxtest.Eventually(b.t, patience, what, is)
}

// settled waits until the broker has nothing more to deliver and nothing that waits for an answer.
func (b *bundle) settled() {
	b.t.Helper()
	b.wait("everything is settled", func() bool {
		c, err := b.js.Consumer(b.t.Context(), streamName, "ledger")
		return err == nil && c.CachedInfo().NumPending == 0 && c.CachedInfo().NumAckPending == 0
	})
}

// wantEffects checks the number of effects, and that each fact has one.
func (b *bundle) wantEffects(n int) {
	b.t.Helper()
	if effects, known := b.count("public.refund"), b.count("outbox.consumer_fact"); effects != n || known != n {
		b.t.Errorf("%d effects of %d facts, want %d of each", effects, known, n)
	}
}

// metric is the sum of a metric, over those points that have the outcome, if one is given.
func (b *bundle) metric(name, outcome string) float64 {
	b.t.Helper()
	sum, _ := b.shown(name, outcome)
	return sum
}

func (b *bundle) shown(name, outcome string) (sum float64, shown bool) {
	b.t.Helper()
	var all metricdata.ResourceMetrics
	if err := b.read.Collect(context.Background(), &all); err != nil {
		b.t.Fatal(err)
	}
	add := func(outcomeOf string, value float64) {
		if outcome == "" || outcome == outcomeOf {
			sum, shown = sum+value, true
		}
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					v, _ := p.Attributes.Value("outcome")
					add(v.AsString(), float64(p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add("", float64(p.Value))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add("", float64(p.Count))
				}
			}
		}
	}
	return sum, shown
}

func (b *bundle) deliveries(outcome string) float64 {
	b.t.Helper()
	return b.metric("holdfast.consumer.deliveries", outcome)
}
