package relay

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

// instrumentation names this package to the telemetry of the process.
const instrumentation = "github.com/holdfast-dev/holdfast/relay"

// The labels that tell the series of a metric apart. Their values come from closed sets: the lanes
// of the schema, the classes, and the outcomes below. Nothing of an event is ever a
// label, so the number of series does not depend on what is published.
const (
	labelLane    = attribute.Key("lane")
	labelClass   = attribute.Key("class")
	labelOutcome = attribute.Key("outcome")
)

// What can happen to a lane, to an event that is not published now, and to a measurement.
const (
	laneClaimed    = "claimed"
	laneHandedBack = "handed_back"
	laneLost       = "lost"

	eventRefused = "refused"
	eventParked  = "parked"

	measured      = "measured"
	notMeasured   = "failed"
	maxLaneNumber = 256 // of the schema
)

var (
	classes      = []Class{Stored, Unknown, Refused, Unavailable}
	laneOutcomes = []string{laneClaimed, laneHandedBack, laneLost}
	waitOutcomes = []string{eventRefused, eventParked}
	routes       = []retry.Route{retry.Done, retry.RetryScheduled, retry.DeadLettered}
)

// The attributes that the semantic conventions for messaging demand of every measurement. They
// are the same for each of them.
var (
	messagingSystem    = semconv.MessagingSystemKey.String("nats")
	messagingOperation = semconv.MessagingOperationName("publish")
)

// metrics are the instruments of a relay that count while it works. What is measured in the
// database is in gauges. Safe for concurrent use.
type metrics struct {
	published   metric.Int64Counter
	outcomes    metric.Int64Counter
	attempts    metric.Int64Counter
	batches     metric.Int64Counter
	read        metric.Float64Histogram
	settle      metric.Float64Histogram
	settleFails metric.Int64Counter
	lanesOwned  metric.Int64Gauge
	lanesLost   metric.Int64Counter
	laneChanges metric.Int64Counter
	waits       metric.Int64Counter
	retries     metric.Int64Counter
	regressions metric.Int64Counter
	measures    metric.Float64Histogram
	// By the semantic conventions for messaging.
	operations metric.Float64Histogram
	sent       metric.Int64Counter

	byClass   map[Class]metric.MeasurementOption
	byError   map[Class]metric.MeasurementOption // of the conventions: an error type unless stored
	byOutcome map[string]metric.MeasurementOption
	byLane    []metric.MeasurementOption
}

// durations are the bounds of histograms in seconds: from a local disk to a time-out.
var durations = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

func newMetrics(meter metric.Meter) (*metrics, error) {
	i := instruments{meter: meter}
	m := &metrics{
		published:   i.counter("holdfast.relay.events.published", "{event}", "Events that the stream acknowledged."),
		outcomes:    i.counter("holdfast.relay.publish.outcomes", "{event}", "Outcomes of publishing an event, by class: one for each event of each attempt."),
		attempts:    i.counter("holdfast.relay.attempts", "{attempt}", "Publication attempts of batches, by the class of their outcome."),
		batches:     i.counter("holdfast.relay.batches", "{batch}", "Batches that were settled, by lane."),
		read:        i.duration("holdfast.relay.read.duration", "Time of reading a batch."),
		settle:      i.duration("holdfast.relay.settle.duration", "Time of a settle."),
		settleFails: i.counter("holdfast.relay.settle.failures", "{settle}", "Settles that failed, or whose outcome is unknown, and that are repeated. Their events are published and not marked."),
		lanesOwned:  i.gauge("holdfast.relay.lanes", "{lane}", "Lanes that this pod owns."),
		lanesLost:   i.counter("holdfast.relay.lanes.lost", "{lane}", "Lanes whose lease this pod lost: another pod may have had to publish the same events."),
		laneChanges: i.counter("holdfast.relay.lane.changes", "{lane}", "Lanes that this pod claimed, handed back or lost."),
		waits:       i.counter("holdfast.relay.events.waiting", "{event}", "Events left to wait: refused by the broker, or parked behind one that was."),
		retries:     i.counter("holdfast.relay.retries", "{event}", "Outcomes of retries, by where they took the event."),
		regressions: i.counter("holdfast.relay.stream.regressions", "{regression}", "Times that the stream ended before a sequence that this pod had seen: made anew, or restored from a copy."),
		measures:    i.duration("holdfast.relay.measure.duration", "Time of measuring the database, by outcome."),
		operations:  i.duration("messaging.client.operation.duration", "Duration of messaging operation initiated by a producer or consumer client."),
		sent:        i.counter("messaging.client.sent.messages", "{message}", "Number of messages producer attempted to send to the broker."),
		byClass:     map[Class]metric.MeasurementOption{},
		byError:     map[Class]metric.MeasurementOption{},
		byOutcome:   map[string]metric.MeasurementOption{},
	}
	if i.err != nil {
		return nil, i.err
	}
	m.prepare()
	return m, nil
}

// prepare makes the label sets once, and begins every series at zero: a counter that
// first appears with its first increment hides it from every rate.
func (m *metrics) prepare() {
	ctx := context.Background()
	m.published.Add(ctx, 0)
	m.settleFails.Add(ctx, 0)
	m.lanesLost.Add(ctx, 0)
	m.regressions.Add(ctx, 0)
	for _, c := range classes {
		m.byClass[c] = with(labelClass.String(string(c)))
		m.byError[c] = with(messagingSystem, messagingOperation, semconv.ErrorTypeKey.String(string(c)))
		if c == Stored {
			m.byError[c] = with(messagingSystem, messagingOperation)
		}
		m.outcomes.Add(ctx, 0, m.byClass[c])
		m.attempts.Add(ctx, 0, m.byClass[c])
		m.sent.Add(ctx, 0, m.byError[c])
	}
	start := func(counter metric.Int64Counter, outcome string) {
		m.byOutcome[outcome] = with(labelOutcome.String(outcome))
		counter.Add(ctx, 0, m.byOutcome[outcome])
	}
	for _, o := range laneOutcomes {
		start(m.laneChanges, o)
	}
	for _, o := range waitOutcomes {
		start(m.waits, o)
	}
	for _, o := range routes {
		start(m.retries, string(o))
	}
	for _, o := range []string{measured, notMeasured} {
		m.byOutcome[o] = with(labelOutcome.String(o))
	}
	m.byLane = make([]metric.MeasurementOption, maxLaneNumber)
	for n := range m.byLane {
		m.byLane[n] = with(labelLane.Int(n))
	}
}

func with(labels ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(labels...))
}

// instruments makes instruments and keeps the first error.
type instruments struct {
	meter metric.Meter
	err   error
}

func (i *instruments) keep(err error) {
	if i.err == nil {
		i.err = err
	}
}

func (i *instruments) counter(name, unit, description string) metric.Int64Counter {
	c, err := i.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	i.keep(err)
	return c
}

func (i *instruments) gauge(name, unit, description string) metric.Int64Gauge {
	g, err := i.meter.Int64Gauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	i.keep(err)
	return g
}

func (i *instruments) duration(name, description string) metric.Float64Histogram {
	h, err := i.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(durations...))
	i.keep(err)
	return h
}

// attempted counts an attempt: how many events it stored, how many the broker refused, and how
// many it left open with what class.
func (m *metrics) attempted(ctx context.Context, stored, refused, open int, class Class, took time.Duration) {
	if class == "" {
		class = Stored
	}
	m.published.Add(ctx, int64(stored))
	m.attempts.Add(ctx, 1, m.byClass[class])
	m.operations.Record(ctx, took.Seconds(), m.byError[class])
	count := func(n int, c Class) {
		if n > 0 {
			m.outcomes.Add(ctx, int64(n), m.byClass[c])
			m.sent.Add(ctx, int64(n), m.byError[c])
		}
	}
	count(stored, Stored)
	count(refused, Refused)
	count(open, class)
}

func (m *metrics) settled(ctx context.Context, lane int16, took time.Duration) {
	m.batches.Add(ctx, 1, m.lane(lane))
	m.settle.Record(ctx, took.Seconds())
}

// lane returns the label of a lane. One that no schema of ours has costs an allocation.
func (m *metrics) lane(n int16) metric.MeasurementOption {
	if int(n) < len(m.byLane) {
		return m.byLane[n]
	}
	return with(labelLane.Int(int(n)))
}

func (m *metrics) settleFailed(ctx context.Context) { m.settleFails.Add(ctx, 1) }

func (m *metrics) wasRead(ctx context.Context, took time.Duration) {
	m.read.Record(ctx, took.Seconds())
}

func (m *metrics) owned(ctx context.Context, lanes int) { m.lanesOwned.Record(ctx, int64(lanes)) }

// changed counts lanes that came or went.
func (m *metrics) changed(ctx context.Context, lanes int, outcome string) {
	m.laneChanges.Add(ctx, int64(lanes), m.byOutcome[outcome])
	if outcome == laneLost {
		m.lanesLost.Add(ctx, int64(lanes))
	}
}

func (m *metrics) waiting(ctx context.Context, refused, parked int) {
	m.waits.Add(ctx, int64(refused), m.byOutcome[eventRefused])
	m.waits.Add(ctx, int64(parked), m.byOutcome[eventParked])
}

func (m *metrics) retried(ctx context.Context, route retry.Route) {
	m.retries.Add(ctx, 1, m.byOutcome[string(route)])
}

func (m *metrics) wentBack(ctx context.Context) { m.regressions.Add(ctx, 1) }

func (m *metrics) measured(ctx context.Context, outcome string, took time.Duration) {
	m.measures.Record(ctx, took.Seconds(), m.byOutcome[outcome])
}
