package saga_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// TestMetricsOfWhatWaits: by state, with ages by the database's clock.
func TestMetricsOfWhatWaits(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	reader := metric.NewManualReader()
	c, err := saga.NewCoordinator(b.Pool, b.store, map[string]saga.Participants{kind: {"people": b.desk}},
		saga.Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	const ended = `lease_holder = NULL, lease_expires_at = NULL, updated_at = clock_timestamp() - interval '1 h', next_attempt_at = clock_timestamp() + interval '1 h'`
	for _, set := range []string{
		`generation = 1`,
		`state = 'compensating', ` + ended,
		`state = 'stuck', ` + ended,
		`state = 'completed', result = '{}', ` + ended,
		`state = 'completed', result = '{}', events_released = true, ` + ended,
		`kind = 'other', lease_expires_at = clock_timestamp() - interval '2 h'`,
	} {
		id := b.draft()
		b.win(b.request(id))
		b.exec(`UPDATE outbox.saga_operation SET `+set+` WHERE operation_id = $1`, id)
	}
	b.tick(c)
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	states := map[string]int64{}
	ages := map[string]float64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch points := m.Data.(type) {
		case metricdata.Gauge[int64]:
			for _, p := range points.DataPoints {
				state, _ := p.Attributes.Value("state")
				states[state.AsString()] = p.Value
			}
		case metricdata.Gauge[float64]:
			ages[m.Name] = points.DataPoints[0].Value
		}
	}
	for state, want := range map[string]int64{"in_progress": 2, "compensating": 1, "stuck": 1, "unreleased": 1, "unhandled": 1} {
		if states[state] != want {
			t.Errorf("%s: %d, want %d", state, states[state], want)
		}
	}
	for _, name := range []string{"holdfast.saga.oldest.unreleased.age", "holdfast.saga.oldest.compensating.age"} {
		if ages[name] < 3600 || ages[name] > 3600+600 {
			t.Errorf("%s is %v", name, ages[name])
		}
	}
	if age, has := ages["holdfast.saga.tick.age"]; !has || age < 0 || age > 600 {
		t.Errorf("the tick is %v old", age)
	}
}

// TestWhatHappensIsCounted: each outcome of a claim, leases that were lost, releases that failed. The counters are
// global, so that other tests count too.
func TestWhatHappensIsCounted(t *testing.T) {
	t.Parallel()
	reader := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	b := setupWith(t, quick)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	b.claim(b.request(id))
	b.claim(b.requestOf(id, order{"Eva", ""}, `{}`))
	b.claim(b.request(uuid.New()))
	work := b.work(won)
	work.Steps[0].Do = func(ctx context.Context, _ saga.Call) (string, error) {
		b.exec(`UPDATE outbox.saga_operation SET lease_holder = gen_random_uuid()`)
		wait(t, "the step is told", ctx.Done())
		return "", ctx.Err()
	}
	if _, err := c.Run(t.Context(), won, work); !errors.Is(err, saga.ErrLeaseLost) {
		t.Errorf("run: %v", err)
	}
	b.desk.first(func(_ context.Context, what string) error {
		if what == "release" {
			return errDied
		}
		return nil
	})
	b.run(c, b.steal(id))
	b.claim(b.request(id))
	stuck := b.draft()
	b.win(b.request(stuck))
	b.exec(`UPDATE outbox.saga_operation SET state = 'stuck', lease_holder = NULL, lease_expires_at = NULL WHERE operation_id = $1`, stuck)
	b.claim(b.request(stuck))

	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	counted := map[string]int64{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			if points, is := m.Data.(metricdata.Sum[int64]); is {
				for _, p := range points.DataPoints {
					outcome, _ := p.Attributes.Value("outcome")
					counted[m.Name+" "+outcome.AsString()] = p.Value
				}
			}
		}
	}
	for _, name := range []string{
		"holdfast.saga.claims won", "holdfast.saga.claims completed", "holdfast.saga.claims in_progress", "holdfast.saga.claims digest_mismatch",
		"holdfast.saga.claims subject_gone", "holdfast.saga.claims needs_operator", "holdfast.saga.leases.lost ", "holdfast.saga.releases.failed ",
	} {
		if counted[name] == 0 {
			t.Errorf("%q is not counted: %v", name, counted)
		}
	}
}
