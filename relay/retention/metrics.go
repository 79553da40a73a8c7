package retention

import (
	"context"
	"maps"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Stats is what a keeper has seen and done since it was made.
type Stats struct {
	Events, Bytes, Dead int64     // in the log at the last look
	LastRotation        time.Time // by whichever pod; zero when there was none
	Emptied, Moved      int64     // slots and held events, by this keeper
	Pruned              Pruned
	// Refusals counts the passes in which a slot that was old enough was not emptied, by what
	// spoke against it.
	Refusals map[Outcome]int64
	// Overdue is for how long the slot that waits longest could have been emptied.
	Overdue time.Duration
}

// Stats returns a copy of the present numbers.
func (k *Keeper) Stats() Stats {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.stats
	s.Refusals = maps.Clone(s.Refusals)
	return s
}

// metrics are the instruments of a keeper. Their labels are an outcome, and the class of a record.
type metrics struct {
	events, bytes, dead metric.Int64Gauge
	rotated, overdue    metric.Float64Gauge
	emptied, moved      metric.Int64Counter
	pruned, refused     metric.Int64Counter
}

func newMetrics() (*metrics, error) {
	meter := otel.Meter("github.com/holdfast-dev/holdfast/relay/retention")
	m := &metrics{}
	var errs [9]error
	m.events, errs[0] = meter.Int64Gauge("holdfast.retention.events",
		metric.WithDescription("Events in the log, published and not, as the server estimates them."), metric.WithUnit("{event}"))
	m.bytes, errs[1] = meter.Int64Gauge("holdfast.retention.size",
		metric.WithDescription("Size of the log with its indexes."), metric.WithUnit("By"))
	m.dead, errs[2] = meter.Int64Gauge("holdfast.retention.dead_rows",
		metric.WithDescription("Dead rows in the log, as the server estimates them."), metric.WithUnit("{row}"))
	m.rotated, errs[3] = meter.Float64Gauge("holdfast.retention.last_rotation",
		metric.WithDescription("When a slot was emptied last, in seconds since 1970."), metric.WithUnit("s"))
	m.overdue, errs[4] = meter.Float64Gauge("holdfast.retention.overdue",
		metric.WithDescription("For how long the slot that waits longest could have been emptied."), metric.WithUnit("s"))
	m.emptied, errs[5] = meter.Int64Counter("holdfast.retention.slots.emptied",
		metric.WithDescription("Slots that this pod emptied."), metric.WithUnit("{slot}"))
	m.moved, errs[6] = meter.Int64Counter("holdfast.retention.events.moved",
		metric.WithDescription("Held events that this pod moved out of a slot."), metric.WithUnit("{event}"))
	m.pruned, errs[7] = meter.Int64Counter("holdfast.retention.records.pruned",
		metric.WithDescription("Old records that this pod removed, by class."), metric.WithUnit("{row}"))
	m.refused, errs[8] = meter.Int64Counter("holdfast.retention.refused",
		metric.WithDescription("Passes in which a slot that was old enough was not emptied, by what spoke against it."), metric.WithUnit("{pass}"))
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// count adds what a pass found and did to the numbers.
func (k *Keeper) count(ctx context.Context, r *Report) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := &k.stats
	s.Events, s.Bytes, s.Dead = r.State.Totals()
	s.Overdue = 0
	for _, slot := range r.State.Slots {
		s.Overdue = max(s.Overdue, r.State.Overdue(slot))
	}
	if r.State.RotatedAt != nil {
		s.LastRotation = *r.State.RotatedAt
	}
	for _, step := range r.Emptied {
		s.LastRotation = r.State.Now
		s.Emptied++
		s.Bytes -= step.Bytes
		s.Events -= step.Events
	}
	s.Moved += r.Moved
	s.Pruned.Batches += r.Pruned.Batches
	s.Pruned.History += r.Pruned.History
	s.Pruned.Audit += r.Pruned.Audit
	for _, step := range r.Refused {
		s.Refusals[step.Outcome]++
		k.metrics.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", string(step.Outcome))))
	}
	k.metrics.record(ctx, s, r)
}

func (m *metrics) record(ctx context.Context, s *Stats, r *Report) {
	m.events.Record(ctx, s.Events)
	m.bytes.Record(ctx, s.Bytes)
	m.dead.Record(ctx, s.Dead)
	m.overdue.Record(ctx, s.Overdue.Seconds())
	if !s.LastRotation.IsZero() {
		m.rotated.Record(ctx, float64(s.LastRotation.UnixMilli())/1000)
	}
	m.emptied.Add(ctx, int64(len(r.Emptied)))
	m.moved.Add(ctx, r.Moved)
	for class, n := range map[string]int64{"batch": r.Pruned.Batches, "history": r.Pruned.History, "audit": r.Pruned.Audit} {
		m.pruned.Add(ctx, n, metric.WithAttributes(attribute.String("class", class)))
	}
}
