package keeper_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/keeper"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
)

// meter remembers the last value, or the sum, of each instrument and state.
type meter struct {
	noop.MeterProvider
	mu        sync.Mutex
	values    map[string]float64
	callbacks []metric.Callback
}

// global is what everything without a provider of its own tells its metrics. It is set once,
// because what was made before it takes the first one for ever.
var global = newMeter()

func newMeter() *meter { return &meter{values: map[string]float64{}} }

func (m *meter) Meter(string, ...metric.MeterOption) metric.Meter { return asMeter{meter: m} }

// asMeter is the other side of a provider.
type asMeter struct {
	noop.Meter
	*meter
}

// gauge, counter and histogram are instruments that know their name.
type (
	gauge struct {
		noop.Int64ObservableGauge
		name string
	}
	number struct {
		noop.Float64ObservableGauge
		name string
	}
	counter struct {
		noop.Int64Counter
		name string
		m    *meter
	}
	histogram struct {
		noop.Float64Histogram
		name string
		m    *meter
	}
	observer struct {
		noop.Observer
		m *meter
	}
)

func (asMeter) Int64ObservableGauge(name string, _ ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return gauge{name: name}, nil
}

func (asMeter) Float64ObservableGauge(name string, _ ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return number{name: name}, nil
}

func (a asMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counter{name: name, m: a.meter}, nil
}

func (a asMeter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return histogram{name: name, m: a.meter}, nil
}

func (a asMeter) RegisterCallback(f metric.Callback, _ ...metric.Observable) (metric.Registration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.callbacks = append(a.callbacks, f)
	return noop.Registration{}, nil
}

func (c counter) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	set := metric.NewAddConfig(opts).Attributes()
	state, _ := set.Value("state")
	c.m.add(c.name, state.AsString(), float64(n))
}

func (h histogram) Record(_ context.Context, _ float64, _ ...metric.RecordOption) {
	h.m.add(h.name, "", 1)
}

func (o observer) ObserveInt64(g metric.Int64Observable, n int64, opts ...metric.ObserveOption) {
	set := metric.NewObserveConfig(opts).Attributes()
	state, _ := set.Value("state")
	o.m.add(g.(gauge).name, state.AsString(), float64(n))
}

func (o observer) ObserveFloat64(g metric.Float64Observable, n float64, _ ...metric.ObserveOption) {
	o.m.add(g.(number).name, "", n)
}

func (m *meter) add(name, state string, n float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if state != "" {
		name += " " + state
	}
	m.values[name] += n
}

// collect returns what the gauges show now.
func (m *meter) collect(t *testing.T) map[string]float64 {
	t.Helper()
	m.mu.Lock()
	m.values = map[string]float64{}
	callbacks := m.callbacks
	m.mu.Unlock()
	for _, f := range callbacks {
		if err := f(t.Context(), observer{m: m}); err != nil {
			t.Fatal(err)
		}
	}
	return m.values
}

func TestKeeperShowsWhatWaits(t *testing.T) {
	t.Parallel()
	b, m := setup(t), newMeter()
	b.overdue(hold.AlarmOnExpiry)
	left := b.active()
	b.applied(left, "a")
	b.active()
	if _, err := hold.Cancel(t.Context(), b.Pool, left, "test"); err != nil {
		t.Fatal(err)
	}
	k := b.keeper(keeper.Config{MeterProvider: m})
	if shown := m.collect(t); len(shown) != 0 {
		t.Errorf("before the first pass %v is shown", shown)
	}
	b.pass(k)
	shown := m.collect(t)
	for name, want := range map[string]float64{
		"holdfast.hold.held active": 1, "holdfast.hold.held overdue": 1, "holdfast.hold.held superseded": 0,
		"holdfast.hold.generations active": 2, "holdfast.hold.generations overdue": 1, "holdfast.hold.generations uncompensated": 1,
		"holdfast.hold.quarantined": 0,
	} {
		if got, is := shown[name]; !is || got != want {
			t.Errorf("%s is %v (shown: %t), want %v", name, got, is, want)
		}
	}
	if age := time.Duration(shown["holdfast.hold.oldest.overdue"]) * time.Second; age < time.Hour-time.Second {
		t.Errorf("the oldest is overdue for %s, want an hour", age)
	}
	if shown["holdfast.hold.oldest.held.age"] <= 0 {
		t.Error("the oldest held event has no age")
	}
}

func TestReleasesAndRefusedStepsAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.active()
	releases, refusals := global.count("holdfast.hold.release.duration"), global.count("holdfast.hold.refused released")
	for range 2 { // the repeated one changes nothing, and says nothing about latency
		if _, err := hold.Release(t.Context(), b.Pool, h, "test"); err != nil {
			t.Fatal(err)
		}
	}
	key, err := receipt.Named("person")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // it has failed
	_, err = receipt.Do(t.Context(), tx, receipt.Step{Operation: h.Operation, Generation: 1, Key: key, EntityKind: "person", BodyDigest: make([]byte, 32)}, nil)
	if !errors.Is(err, outbox.ErrGenerationReleased) {
		t.Fatalf("error is %v, want a refusal", err)
	}
	// Other tests of this package release at the same time.
	if n := global.count("holdfast.hold.release.duration") - releases; n < 1 {
		t.Errorf("%v releases were counted, want one at least", n)
	}
	if n := global.count("holdfast.hold.refused released") - refusals; n != 1 {
		t.Errorf("%v refused steps were counted, want 1", n)
	}
}

// count is the sum of a counter, or how often a histogram was told something.
func (m *meter) count(name string) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[name]
}
