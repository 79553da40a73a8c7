package telemetry

import (
	"bytes"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

func TestTheStandardVariablesSayWhereASignalGoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		env            map[string]string
		metric, traces protocol
		warnings       int
	}{
		{name: "nothing is set"},
		{name: "an endpoint", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, metric: overHTTP, traces: overHTTP},
		{name: "an endpoint for traces", env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, traces: overHTTP},
		{name: "grpc", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, metric: overGRPC, traces: overGRPC},
		{name: "a protocol each", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, metric: overGRPC, traces: overHTTP},
		{name: "no traces", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, metric: overHTTP},
		{name: "metrics are scraped", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_METRICS_EXPORTER": "prometheus"}, traces: overHTTP},
		{name: "both ways", env: map[string]string{"OTEL_METRICS_EXPORTER": "prometheus, otlp"}, metric: overHTTP},
		{name: "the default endpoint", env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, traces: overHTTP},
		{name: "unknown values", env: map[string]string{"OTEL_TRACES_EXPORTER": "jaeger", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, metric: overHTTP, warnings: 2},
		{name: "no url", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "user:hunter2@c"}, warnings: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := slog.New(slog.NewTextHandler(&out, nil))
			getenv := func(name string) string { return c.env[name] }
			if got := choose(metricsSignal, getenv, log); got != c.metric {
				t.Errorf("metrics go %q, want %q", got, c.metric)
			}
			if got := choose(tracesSignal, getenv, log); got != c.traces {
				t.Errorf("traces go %q, want %q", got, c.traces)
			}
			if n := strings.Count(out.String(), "WARN"); n != c.warnings || strings.Contains(out.String(), "hunter2") {
				t.Errorf("%d warnings, want %d without values:\n%s", n, c.warnings, &out)
			}
		})
	}
}

func TestComplaintsAreOneLineAMinuteWithoutAddresses(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &complaints{log: slog.New(slog.NewTextHandler(&out, nil))}
	for range 100 {
		c.Handle(&url.Error{Op: "Post", URL: "http://user:hunter2@collector", Err: errors.New("refused")})
	}
	if text := out.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "hunter2") || !strings.Contains(text, "refused") {
		t.Errorf("the log is %s", text)
	}
}

func TestOnlyTrueDisables(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "true": true, "TRUE": true, "false": false, "yes": false} {
		if got := disabled(func(string) string { return text }); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
