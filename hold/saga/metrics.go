package saga

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/hold/internal/round"
)

const scope = "github.com/holdfast-dev/holdfast/hold/saga"

var (
	claims, claimsErr = otel.Meter(scope).Int64Counter("holdfast.saga.claims", metric.WithUnit("{claim}"),
		metric.WithDescription("Claims of operations, by outcome: won, completed, in_progress, digest_mismatch, subject_gone, needs_operator."))
	lost, lostErr = otel.Meter(scope).Int64Counter("holdfast.saga.leases.lost", metric.WithUnit("{lease}"),
		metric.WithDescription("Leases that were lost while somebody worked under them."))
	releasesFailed, releasesFailedErr = otel.Meter(scope).Int64Counter("holdfast.saga.releases.failed", metric.WithUnit("{release}"),
		metric.WithDescription("Releases of completed operations that not every participant confirmed; they are repeated."))
)

func countClaim(ctx context.Context, o Outcome) {
	if claimsErr == nil {
		claims.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", o.Name())))
	}
}

func countLost(ctx context.Context) {
	if lostErr == nil {
		lost.Add(ctx, 1)
	}
}

func countReleaseFailed(ctx context.Context) {
	if releasesFailedErr == nil {
		releasesFailed.Add(ctx, 1)
	}
}

// metrics shows what was measured last whenever somebody collects.
type metrics struct {
	operations                                       metric.Int64ObservableGauge
	oldestUnreleased, oldestCompensating, lastTicked metric.Float64ObservableGauge

	last round.Latest[Measurement]
}

func newMetrics(provider metric.MeterProvider) (*metrics, error) {
	meter := provider.Meter(scope)
	m := &metrics{}
	var errs [4]error
	m.operations, errs[0] = meter.Int64ObservableGauge("holdfast.saga.operations", metric.WithUnit("{operation}"),
		metric.WithDescription("Operations that have not ended, by state: in_progress, compensating, stuck, unreleased (completed), or unhandled (due, of a kind that this process does not know)."))
	m.oldestUnreleased, errs[1] = meter.Float64ObservableGauge("holdfast.saga.oldest.unreleased.age", metric.WithUnit("s"),
		metric.WithDescription("Time since the oldest operation was completed whose events are not released everywhere; 0 when there is none."))
	m.oldestCompensating, errs[2] = meter.Float64ObservableGauge("holdfast.saga.oldest.compensating.age", metric.WithUnit("s"),
		metric.WithDescription("Time since compensation of the oldest operation began that is not compensated yet; 0 when there is none."))
	m.lastTicked, errs[3] = meter.Float64ObservableGauge("holdfast.saga.tick.age", metric.WithUnit("s"),
		metric.WithDescription("Time since a reconciler, of any replica, went through all that is due."))
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	// For the life of the process: what is not measured again soon shows no more.
	if _, err := meter.RegisterCallback(m.observe, m.operations, m.oldestUnreleased, m.oldestCompensating, m.lastTicked); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *metrics) observe(_ context.Context, o metric.Observer) error {
	last, age, fresh := m.last.Get()
	if !fresh {
		return nil
	}
	for state, n := range map[string]int64{
		"in_progress": last.InProgress, "compensating": last.Compensating, "stuck": last.Stuck,
		"unreleased": last.Unreleased, "unhandled": last.Unhandled,
	} {
		o.ObserveInt64(m.operations, n, metric.WithAttributes(attribute.String("state", state)))
	}
	o.ObserveFloat64(m.oldestUnreleased, last.OldestUnreleased.Seconds())
	o.ObserveFloat64(m.oldestCompensating, last.OldestCompensating.Seconds())
	if last.LastTick != nil {
		o.ObserveFloat64(m.lastTicked, (*last.LastTick + age).Seconds())
	}
	return nil
}
