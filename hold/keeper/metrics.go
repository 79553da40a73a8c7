package keeper

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/internal/round"
)

// metrics shows what was measured last whenever somebody collects. Their one label is a state, of
// three.
type metrics struct {
	held, generations, quarantined metric.Int64ObservableGauge
	oldestHeld, oldestOverdue      metric.Float64ObservableGauge

	last round.Latest[hold.Measurement]
}

func newMetrics(provider metric.MeterProvider) (*metrics, error) {
	meter := provider.Meter("github.com/holdfast-dev/holdfast/hold/keeper")
	m := &metrics{}
	var errs [5]error
	m.held, errs[0] = meter.Int64ObservableGauge("holdfast.hold.held", metric.WithUnit("{event}"),
		metric.WithDescription("Events that are held, by the state of their generation: active, overdue, or superseded, which can only be cancelled. Counted up to 100,000."))
	m.generations, errs[1] = meter.Int64ObservableGauge("holdfast.hold.generations", metric.WithUnit("{generation}"),
		metric.WithDescription("Generations that wait, by what for: active, overdue (past expires_at, among the active), or uncompensated (cancelled, with something left to undo)."))
	m.quarantined, errs[2] = meter.Int64ObservableGauge("holdfast.hold.quarantined", metric.WithUnit("{entity}"),
		metric.WithDescription("Entities that compensation left to a person, in all."))
	m.oldestHeld, errs[3] = meter.Float64ObservableGauge("holdfast.hold.oldest.held.age", metric.WithUnit("s"),
		metric.WithDescription("Time since the oldest held event was staged, among those counted; 0 when there is none."))
	m.oldestOverdue, errs[4] = meter.Float64ObservableGauge("holdfast.hold.oldest.overdue", metric.WithUnit("s"),
		metric.WithDescription("For how long the first undecided generation has been overdue; 0 when none is."))
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	// For the life of the process: what is not measured again soon shows no more.
	if _, err := meter.RegisterCallback(m.observe, m.held, m.generations, m.quarantined, m.oldestHeld, m.oldestOverdue); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *metrics) observe(_ context.Context, o metric.Observer) error {
	last, _, fresh := m.last.Get()
	if !fresh {
		return nil
	}
	for state, n := range map[string]int64{"active": last.HeldActive, "overdue": last.HeldOverdue, "superseded": last.HeldSuperseded} {
		o.ObserveInt64(m.held, n, metric.WithAttributes(attribute.String("state", state)))
	}
	for state, n := range map[string]int64{"active": last.Active, "overdue": last.Overdue, "uncompensated": last.Uncompensated} {
		o.ObserveInt64(m.generations, n, metric.WithAttributes(attribute.String("state", state)))
	}
	o.ObserveInt64(m.quarantined, last.Quarantined)
	o.ObserveFloat64(m.oldestHeld, last.OldestHeld.Seconds())
	o.ObserveFloat64(m.oldestOverdue, last.OldestOverdue.Seconds())
	return nil
}

// measure reads what waits, for the metrics and the alarm of the log.
func (k *Keeper) measure(ctx context.Context, r *Report) error {
	last, err := k.store.Measure(ctx, k.db)
	if err != nil {
		return err
	}
	k.metrics.last.Keep(last, 3*k.cfg.Every+time.Minute)
	r.Waiting = last
	k.alarm(last)
	return nil
}

// alarm tells when generations become overdue, and when none is any more.
func (k *Keeper) alarm(last hold.Measurement) {
	if before := k.overdue.Swap(last.Overdue); before == last.Overdue {
		return
	}
	if last.Overdue > 0 {
		k.cfg.Logger.Warn("generations are overdue", "generations", last.Overdue, "held", last.HeldOverdue,
			"overdue", last.OldestOverdue.Round(time.Second), "hint", "list them, ask the coordinator, then release or cancel them with a reason")
		return
	}
	k.cfg.Logger.Info("no generation is overdue")
}
