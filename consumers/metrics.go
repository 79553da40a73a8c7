package consumers

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// instrumentation names this package to the telemetry of the process.
const instrumentation = "github.com/holdfast-dev/holdfast/consumers"

// The labels: the name of the consumer, which is a setting, and outcomes of closed sets. Nothing
// of an event is ever a label.
const (
	labelConsumer = attribute.Key("consumer")
	labelOutcome  = attribute.Key("outcome")
)

// deliveryOutcome is what became of a delivery: exactly one of each.
type deliveryOutcome string

const (
	deliveryApplied     deliveryOutcome = "applied"     // acknowledged
	deliveryReplayed    deliveryOutcome = "replayed"    // acknowledged
	deliveryQuarantined deliveryOutcome = "quarantined" // acknowledged; strict: later
	deliveryIgnored     deliveryOutcome = "ignored"     // acknowledged
	deliveryForeign     deliveryOutcome = "foreign"     // no CloudEvent: acknowledged by policy
	deliveryFailed      deliveryOutcome = "failed"      // later, counted
	deliveryUnproven    deliveryOutcome = "unproven"    // later, counted
	deliveryOutage      deliveryOutcome = "outage"      // later, not counted
	deliveryPaused      deliveryOutcome = "paused"      // later, not counted
	deliveryStopped     deliveryOutcome = "stopped"     // later, not counted
	deliveryDead        deliveryOutcome = "dead"        // given up
	deliveryUnsettled   deliveryOutcome = "unsettled"   // the broker did not confirm: it delivers again
)

var deliveryOutcomes = []deliveryOutcome{
	deliveryApplied, deliveryReplayed, deliveryQuarantined, deliveryIgnored, deliveryForeign, deliveryFailed,
	deliveryUnproven, deliveryOutage, deliveryPaused, deliveryStopped, deliveryDead, deliveryUnsettled,
}

// What a handler can come to.
const (
	handledOK     = "ok"
	handledFailed = "error"
)

var durations = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

// metrics are the instruments of a consumer. Safe for concurrent use.
type metrics struct {
	deliveries, facts, replays               metric.Int64Counter
	handle                                   metric.Float64Histogram
	silences, exhausted, drifts, auditFaults metric.Int64Counter
	pruned                                   metric.Int64Counter

	pending, ackPending, held, paused, quarantine, dead metric.Int64ObservableGauge
	oldestDead                                          metric.Float64ObservableGauge
	meter                                               metric.Meter

	byOutcome map[string]metric.MeasurementOption
	mine      metric.MeasurementOption

	mu   sync.Mutex
	last measurement
}

// measurement is what was measured last. What is old is not shown: a number that stands still
// looks like a consumer that is well.
type measurement struct {
	pending, ackPending, held, paused, quarantine, dead int64
	oldestDead                                          float64
	broker, database                                    time.Time // until when each is fresh, by the clock of the process
}

func newMetrics(provider metric.MeterProvider, name string) (*metrics, error) {
	meter := provider.Meter(instrumentation)
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		keep(err)
		return c
	}
	gauge := func(name, unit, description string) metric.Int64ObservableGauge {
		g, err := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		keep(err)
		return g
	}
	m := &metrics{
		meter:       meter,
		deliveries:  counter("holdfast.consumer.deliveries", "{message}", "Deliveries, by what became of them."),
		facts:       counter("holdfast.consumer.facts", "{fact}", "Facts of events that were handled: applied, replayed, or told in another way (mismatch)."),
		replays:     counter("holdfast.consumer.replays", "{message}", "Dead letters that were replayed, by what became of them."),
		silences:    counter("holdfast.consumer.silences", "{silence}", "Times that messages were pending and none arrived, or that a handler did not come back."),
		exhausted:   counter("holdfast.consumer.broker.exhausted", "{message}", "Messages of which the broker says that it delivered them too often."),
		drifts:      counter("holdfast.consumer.drifts", "{look}", "Looks at which the consumer on the stream was not what is wanted."),
		auditFaults: counter("holdfast.consumer.audit.failures", "{delivery}", "Deliveries whose effect is proven and whose inbox row could not be written."),
		pruned:      counter("holdfast.consumer.pruned", "{row}", "Old rows of inbox and dead letters that were removed."),
		pending:     gauge("holdfast.consumer.pending", "{message}", "Messages on the stream that were not delivered yet."),
		ackPending:  gauge("holdfast.consumer.ack.pending", "{message}", "Messages that were delivered and neither acknowledged nor given up."),
		held:        gauge("holdfast.consumer.held", "{message}", "Messages that this instance has."),
		paused:      gauge("holdfast.consumer.paused", "1", "1 while the group is paused, else 0."),
		quarantine:  gauge("holdfast.consumer.quarantine", "{event}", "Events in quarantine that nobody has resolved, counted up to 100,000."),
		dead:        gauge("holdfast.consumer.dead.letters", "{message}", "Dead letters that nobody has decided about, counted up to 100,000."),
		byOutcome:   map[string]metric.MeasurementOption{},
		mine:        metric.WithAttributeSet(attribute.NewSet(labelConsumer.String(name))),
	}
	var err error
	m.handle, err = meter.Float64Histogram("messaging.process.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of processing operation."), metric.WithExplicitBucketBoundaries(durations...))
	keep(err)
	m.oldestDead, err = meter.Float64ObservableGauge("holdfast.consumer.dead.letters.oldest", metric.WithUnit("s"),
		metric.WithDescription("For how long the first dead letter has waited for a decision; 0 when there is none."))
	keep(err)
	if first != nil {
		return nil, first
	}
	m.prepare(name)
	return m, nil
}

// prepare begins every series at zero: a counter that first appears with its first increment
// hides it from every rate.
func (m *metrics) prepare(name string) {
	ctx := context.Background()
	label := func(outcome string) metric.MeasurementOption {
		m.byOutcome[outcome] = metric.WithAttributeSet(attribute.NewSet(labelConsumer.String(name), labelOutcome.String(outcome)))
		return m.byOutcome[outcome]
	}
	for _, o := range deliveryOutcomes {
		m.deliveries.Add(ctx, 0, label(string(o)))
	}
	for _, o := range []facts.Outcome{facts.Applied, facts.Replayed, facts.Mismatch} {
		m.facts.Add(ctx, 0, label(string(o)))
	}
	for _, o := range replayOutcomes {
		m.replays.Add(ctx, 0, label(string(o)))
	}
	for _, c := range []metric.Int64Counter{m.silences, m.exhausted, m.drifts, m.auditFaults, m.pruned} {
		c.Add(ctx, 0, m.mine)
	}
	for _, o := range []string{handledOK, handledFailed} {
		labels := []attribute.KeyValue{
			labelConsumer.String(name), semconv.MessagingSystemKey.String("nats"), semconv.MessagingOperationName("process"),
		}
		if o == handledFailed {
			labels = append(labels, semconv.ErrorTypeKey.String(handledFailed))
		}
		m.byOutcome[o] = metric.WithAttributeSet(attribute.NewSet(labels...))
	}
}

func (m *metrics) delivered(ctx context.Context, o deliveryOutcome) {
	m.deliveries.Add(ctx, 1, m.byOutcome[string(o)])
}

func (m *metrics) claimed(ctx context.Context, r Result) {
	for _, c := range r.Claims {
		m.facts.Add(ctx, 1, m.byOutcome[string(c.Outcome)])
	}
}

func (m *metrics) handled(ctx context.Context, took time.Duration, err error) {
	o := handledOK
	if err != nil {
		o = handledFailed
	}
	m.handle.Record(ctx, took.Seconds(), m.byOutcome[o])
}

func (m *metrics) auditFailed(ctx context.Context) { m.auditFaults.Add(ctx, 1, m.mine) }

// keep changes what is shown.
func (m *metrics) keep(change func(*measurement)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.last)
}

// show makes the gauges visible until the returned registration is ended.
func (m *metrics) show() (metric.Registration, error) {
	return m.meter.RegisterCallback(m.observe, m.pending, m.ackPending, m.held, m.paused, m.quarantine, m.dead, m.oldestDead)
}

func (m *metrics) observe(_ context.Context, o metric.Observer) error {
	m.mu.Lock()
	last := m.last
	m.mu.Unlock()
	now := time.Now()
	o.ObserveInt64(m.held, last.held, m.mine)
	o.ObserveInt64(m.paused, last.paused, m.mine)
	if now.Before(last.broker) {
		o.ObserveInt64(m.pending, last.pending, m.mine)
		o.ObserveInt64(m.ackPending, last.ackPending, m.mine)
	}
	if now.Before(last.database) {
		o.ObserveInt64(m.quarantine, last.quarantine, m.mine)
		o.ObserveInt64(m.dead, last.dead, m.mine)
		o.ObserveFloat64(m.oldestDead, last.oldestDead, m.mine)
	}
	return nil
}
