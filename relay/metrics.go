package relay

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

// metrics are the instruments of a relay. Their labels are bounded: a class, a group.
type metrics struct {
	group     attribute.KeyValue
	published metric.Int64Counter
	attempts  metric.Int64Counter
	batches   metric.Int64Counter
	settle    metric.Float64Histogram
	lanes     metric.Int64Gauge
	lanesLost metric.Int64Counter
	refused   metric.Int64Counter
	retries   metric.Int64Counter
}

func newMetrics(group string) (*metrics, error) {
	meter := otel.Meter("github.com/holdfast-dev/holdfast/relay")
	m := &metrics{group: attribute.String("group", group)}
	var errs [8]error
	m.published, errs[0] = meter.Int64Counter("holdfast.relay.events.published",
		metric.WithDescription("Events that the stream acknowledged."), metric.WithUnit("{event}"))
	m.attempts, errs[1] = meter.Int64Counter("holdfast.relay.attempts",
		metric.WithDescription("Publication attempts of batches, by the class of their outcome."), metric.WithUnit("{attempt}"))
	m.batches, errs[2] = meter.Int64Counter("holdfast.relay.batches",
		metric.WithDescription("Batches that were settled."), metric.WithUnit("{batch}"))
	m.settle, errs[3] = meter.Float64Histogram("holdfast.relay.settle.duration",
		metric.WithDescription("Time of a settle."), metric.WithUnit("s"))
	m.lanes, errs[4] = meter.Int64Gauge("holdfast.relay.lanes",
		metric.WithDescription("Lanes that this pod owns."), metric.WithUnit("{lane}"))
	m.lanesLost, errs[5] = meter.Int64Counter("holdfast.relay.lanes.lost",
		metric.WithDescription("Lanes whose lease this pod lost."), metric.WithUnit("{lane}"))
	m.refused, errs[6] = meter.Int64Counter("holdfast.relay.events.waiting",
		metric.WithDescription("Events left to wait: refused by the broker, or parked behind one that was."), metric.WithUnit("{event}"))
	m.retries, errs[7] = meter.Int64Counter("holdfast.relay.retries",
		metric.WithDescription("Outcomes of retries, by where they took the event."), metric.WithUnit("{event}"))
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) attempted(ctx context.Context, stored int, class Class) {
	if class == "" {
		class = Stored
	}
	m.published.Add(ctx, int64(stored), metric.WithAttributes(m.group))
	m.attempts.Add(ctx, 1, metric.WithAttributes(m.group, attribute.String("class", string(class))))
}

func (m *metrics) settled(ctx context.Context, events int, took time.Duration) {
	m.batches.Add(ctx, 1, metric.WithAttributes(m.group))
	m.settle.Record(ctx, took.Seconds(), metric.WithAttributes(m.group))
}

func (m *metrics) owned(ctx context.Context, lanes int) {
	m.lanes.Record(ctx, int64(lanes), metric.WithAttributes(m.group))
}

func (m *metrics) lost(ctx context.Context, lanes int) {
	m.lanesLost.Add(ctx, int64(lanes), metric.WithAttributes(m.group))
}

func (m *metrics) waiting(ctx context.Context, refused, parked int) {
	m.refused.Add(ctx, int64(refused), metric.WithAttributes(m.group, attribute.String("kind", "refused")))
	m.refused.Add(ctx, int64(parked), metric.WithAttributes(m.group, attribute.String("kind", "parked")))
}

func (m *metrics) retried(ctx context.Context, route retry.Route) {
	m.retries.Add(ctx, 1, metric.WithAttributes(m.group, attribute.String("route", string(route))))
}
