package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// StopTimeout bounds how long [Telemetry.Stop] tries to deliver what is left.
const StopTimeout = 3 * time.Second

// groupKey is the relay group of this process: like the instance, it tells processes apart and
// not series of one process, so it belongs to the resource. Prometheus sees it on each series.
const groupKey = attribute.Key("holdfast.group")

// Process is what this process says of itself.
type Process struct {
	Version, Commit, Go string
	Group               string // relay group
}

// Telemetry collects what the libraries measure and trace.
type Telemetry struct {
	registry *prometheus.Registry
	metrics  *metric.MeterProvider // nil when the SDK is disabled
	traces   *trace.TracerProvider // nil when nobody wants traces
	log      *slog.Logger
}

// Start makes this process measure and trace: from now on the global providers are its own. getenv
// is [os.Getenv]. Call it once, before anything makes instruments, and Stop in the end. It
// waits for no collector. Its errors are bugs, never the fault of a variable.
func Start(ctx context.Context, p Process, getenv func(string) string, log *slog.Logger) (*Telemetry, error) {
	t := &Telemetry{registry: prometheus.NewRegistry(), log: log}
	t.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if disabled(getenv) {
		return t, nil
	}
	// What the SDK itself would log names values of variables; its errors come to the handler.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(&complaints{log: log})
	about, err := describe(ctx, p, log)
	if err != nil {
		return nil, err
	}
	if err := t.startMetrics(ctx, about, getenv); err != nil {
		return nil, err
	}
	if err := t.startTraces(ctx, about, getenv); err != nil {
		return nil, err
	}
	return t, buildInfo(p)
}

// describe returns the resource of this process. The standard variables have the last word.
func describe(ctx context.Context, p Process, log *slog.Logger) (*resource.Resource, error) {
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("holdfast-relay"), semconv.ServiceVersion(p.Version),
		semconv.ServiceInstanceID(uuid.NewString()), groupKey.String(p.Group)), resource.WithFromEnv())
	if errors.Is(err, resource.ErrPartialResource) || errors.Is(err, resource.ErrSchemaURLConflict) {
		log.Warn("telemetry: OTEL_RESOURCE_ATTRIBUTES is not understood in full", "hint", "write key=value pairs, separated by commas")
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe process: %w", err)
	}
	return about, nil
}

func (t *Telemetry) startMetrics(ctx context.Context, about *resource.Resource, getenv func(string) string) error {
	scraped, err := exporter.New(exporter.WithRegisterer(t.registry), exporter.WithoutScopeInfo(),
		exporter.WithResourceAsConstantLabels(attribute.NewAllowKeysFilter(groupKey)))
	if err != nil {
		return fmt.Errorf("make metrics exporter: %w", err)
	}
	opts := []metric.Option{metric.WithResource(about), metric.WithReader(scraped)}
	if how := choose(metricsSignal, getenv, t.log); how != nowhere {
		pushed, err := newMetricExporter(ctx, how)
		if err != nil {
			return fmt.Errorf("make otlp exporter of metrics: %w", err)
		}
		opts = append(opts, metric.WithReader(metric.NewPeriodicReader(pushed)))
	}
	t.metrics = metric.NewMeterProvider(opts...)
	otel.SetMeterProvider(t.metrics)
	return nil
}

func (t *Telemetry) startTraces(ctx context.Context, about *resource.Resource, getenv func(string) string) error {
	how := choose(tracesSignal, getenv, t.log)
	if how == nowhere {
		return nil
	}
	pushed, err := newTraceExporter(ctx, how)
	if err != nil {
		return fmt.Errorf("make otlp exporter of traces: %w", err)
	}
	// A full queue drops spans and blocks nobody.
	t.traces = trace.NewTracerProvider(trace.WithResource(about), trace.WithBatcher(pushed))
	otel.SetTracerProvider(t.traces)
	return nil
}

// buildInfo says with one series what was built from what.
func buildInfo(p Process) error {
	gauge, err := otel.Meter("github.com/holdfast-dev/holdfast/cmd/relay").Int64Gauge("holdfast.build.info",
		api.WithDescription("1; its labels say what this process was built from."))
	if err != nil {
		return fmt.Errorf("make build info: %w", err)
	}
	gauge.Record(context.Background(), 1, api.WithAttributes(attribute.String("version", p.Version),
		attribute.String("commit", p.Commit), attribute.String("go", p.Go)))
	return nil
}

// Handler answers a scrape. What can be collected is served even if some of it cannot.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(t.log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
	})
}

// Stop delivers what is left and ends measuring, within [StopTimeout] even if an exporter does not
// keep its deadline. What cannot be delivered is logged and lost.
func (t *Telemetry) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), StopTimeout)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var both sync.WaitGroup
		if t.metrics != nil {
			both.Go(func() { t.ended("metrics", t.metrics.Shutdown(ctx)) })
		}
		if t.traces != nil {
			both.Go(func() { t.ended("traces", t.traces.Shutdown(ctx)) })
		}
		both.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		t.log.Warn("the last telemetry is not delivered: the collector takes too long", "timeout", StopTimeout)
	}
}

func (t *Telemetry) ended(what string, err error) {
	if err != nil {
		t.log.Warn("the last telemetry is not delivered", "signal", what, "error", safe(err))
	}
}
