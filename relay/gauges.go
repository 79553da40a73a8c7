package relay

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// gauges are what a relay shows of its state whenever somebody collects. They cost no query:
// what comes from the database is what measure read last, and it is not shown at all once it
// is old, since a number that stands still looks like a system that is well.
type gauges struct {
	ready, broker, database, missing metric.Int64ObservableGauge
	window                           metric.Float64ObservableGauge

	backlog, held, unowned, retrying, dead   metric.Int64ObservableGauge
	rows, size, horizon                      metric.Int64ObservableGauge
	oldest, oldestHeld, oldestRetry, overdue metric.Float64ObservableGauge
	retained, pinned                         metric.Float64ObservableGauge

	all []metric.Observable
}

func (g *gauges) count(i *instruments, name, unit, description string) metric.Int64ObservableGauge {
	o, err := i.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	i.keep(err)
	g.all = append(g.all, o)
	return o
}

func (g *gauges) number(i *instruments, name, unit, description string) metric.Float64ObservableGauge {
	o, err := i.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	i.keep(err)
	g.all = append(g.all, o)
	return o
}

// registerGauges shows the state of the relay until unregister is called.
func (r *Relay) registerGauges() (unregister func(), err error) {
	i := &instruments{meter: r.meter}
	g := &gauges{}
	g.ready = g.count(i, "holdfast.relay.ready", "", "1 while the relay can do its work, as /readyz says.")
	g.broker = g.count(i, "holdfast.relay.broker.up", "", "1 unless the last use of the broker failed.")
	g.database = g.count(i, "holdfast.relay.database.up", "", "1 unless the last use of the database failed.")
	g.missing = g.count(i, "holdfast.relay.stream.missing", "", "1 while the server says that there is no such stream.")
	g.window = g.number(i, "holdfast.relay.dedup.window.used", "1", "How much of the stream's duplicate window the oldest batch in flight has used: over 1, a copy of what was stored without an answer is no longer taken away by the stream.")

	g.backlog = g.count(i, "holdfast.relay.backlog", "{event}", "Committed events that are not published, by lane, counted up to 10,000 a lane.")
	g.oldest = g.number(i, "holdfast.relay.oldest.unpublished.age", "s", "Time since the oldest unpublished event was staged, by lane; 0 when there is none.")
	g.held = g.count(i, "holdfast.relay.held", "{event}", "Events that are held, counted up to 100,000.")
	g.oldestHeld = g.number(i, "holdfast.relay.oldest.held.age", "s", "Time since the oldest held event was staged, among those counted.")
	g.unowned = g.count(i, "holdfast.relay.lanes.unowned", "{lane}", "Lanes of the group that no live relay owns.")
	g.retrying = g.count(i, "holdfast.relay.retry.waiting", "{event}", "Events that wait for a retry or behind one that does, counted up to 10,000.")
	g.oldestRetry = g.number(i, "holdfast.relay.retry.oldest.age", "s", "Time since the event that has waited longest for its retries was staged, or requeued.")
	g.overdue = g.number(i, "holdfast.relay.retry.overdue", "s", "How long the longest has been due for a retry and not been claimed.")
	g.dead = g.count(i, "holdfast.relay.dead.letters", "{event}", "Events that were given up and wait for a decision, counted up to 10,000.")
	g.rows = g.count(i, "holdfast.relay.retained", "{event}", "Rows of the log, published ones included, as the planner estimates them.")
	g.size = g.count(i, "holdfast.relay.retained.size", "By", "Size of the log on disk, with its indexes.")
	g.retained = g.number(i, "holdfast.relay.retained.oldest.age", "s", "Time since the event with the oldest position in the log was staged: it grows without end while retention cannot empty a slot.")
	g.horizon = g.count(i, "holdfast.relay.database.xmin.age", "{transaction}", "Transactions since the oldest snapshot, transaction, prepared transaction or replication slot that keeps dead rows.")
	g.pinned = g.number(i, "holdfast.relay.database.xmin.pinned", "s", "How long this pod has seen the same one keep dead rows.")
	if i.err != nil {
		return nil, i.err
	}
	registration, err := r.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		r.observe(g, o)
		return nil
	}, g.all...)
	if err != nil {
		return nil, err
	}
	return func() {
		if err := registration.Unregister(); err != nil {
			r.log.Warn("unregister metrics", "error", err)
		}
	}, nil
}

func (r *Relay) observe(g *gauges, o metric.Observer) {
	database, broker := r.health.up()
	o.ObserveInt64(g.ready, one(r.health.ready() == nil))
	o.ObserveInt64(g.database, one(database))
	o.ObserveInt64(g.broker, one(broker))
	o.ObserveInt64(g.missing, one(r.stream.missing.Load()))
	if used, known := r.stream.windowUsed(r.inFlight.oldest()); known {
		o.ObserveFloat64(g.window, used)
	}
	m := r.measured.last.Load()
	if m == nil || time.Now().After(m.until) {
		return
	}
	for _, l := range m.lanes {
		o.ObserveInt64(g.backlog, l.Backlog, r.metrics.lane(l.Lane))
		o.ObserveFloat64(g.oldest, l.Oldest.Seconds(), r.metrics.lane(l.Lane))
	}
	o.ObserveInt64(g.unowned, m.unowned)
	o.ObserveInt64(g.held, m.held)
	o.ObserveFloat64(g.oldestHeld, m.oldestHeld.Seconds())
	o.ObserveInt64(g.retrying, m.waiting)
	o.ObserveFloat64(g.oldestRetry, m.oldestWaiting.Seconds())
	o.ObserveFloat64(g.overdue, m.overdue.Seconds())
	o.ObserveInt64(g.dead, m.dead)
	o.ObserveInt64(g.rows, m.retainedRows)
	o.ObserveInt64(g.size, m.retainedBytes)
	o.ObserveFloat64(g.retained, m.oldestRetained.Seconds())
	o.ObserveInt64(g.horizon, m.horizonAge)
	o.ObserveFloat64(g.pinned, m.at.Sub(m.horizonSince).Seconds())
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
