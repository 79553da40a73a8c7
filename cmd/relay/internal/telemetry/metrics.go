package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Metrics collects what the libraries measure, for Prometheus to scrape.
type Metrics struct {
	provider *metric.MeterProvider
	registry *prometheus.Registry
	log      *slog.Logger
}

// NewMetrics makes this process measure: from now on the global meter provider is this one.
// Call it once, before anything makes instruments, and Shutdown in the end.
func NewMetrics(version string, log *slog.Logger) (*Metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		return nil, fmt.Errorf("make metrics exporter: %w", err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(resource.NewSchemaless(
		attribute.String("service.name", "holdfast-relay"), attribute.String("service.version", version))))
	otel.SetMeterProvider(provider)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("metrics are incomplete", "error", err) }))
	return &Metrics{provider: provider, registry: registry, log: log}, nil
}

// Handler answers a scrape. What can be collected is served even if some of it cannot.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(m.log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
	})
}

// Shutdown ends measuring.
func (m *Metrics) Shutdown(ctx context.Context) error {
	if err := m.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("stop metrics: %w", err)
	}
	return nil
}
