package telemetry_test

import (
	"bytes"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/telemetry"
)

func TestTelemetryServesWhatTheGlobalMeterCounts(t *testing.T) {
	t.Parallel()
	started, err := telemetry.Start(t.Context(), telemetry.Process{Version: "v1.2.3", Group: "second"},
		func(string) string { return "" }, telemetry.NewLogger(io.Discard, "text", "info"))
	if err != nil {
		t.Fatal(err)
	}
	counter, err := otel.Meter("test").Int64Counter("holdfast.test.events")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 3)
	answer := httptest.NewRecorder()
	started.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`holdfast_test_events_total{holdfast_group="second"} 3`, "go_goroutines ", "process_start_time_seconds ",
		`service_version="v1.2.3"`, `holdfast_build_info{commit="",go="",holdfast_group="second",version="v1.2.3"} 1`,
	} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("the answer lacks %s:\n%s", want, answer.Body)
		}
	}
	started.Stop()
}

func TestLoggerHasFormatAndLevel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, "json", "warn")
	log.Info("quiet")
	log.Warn("loud")
	if got := out.String(); !strings.HasPrefix(got, `{"time":`) || strings.Contains(got, "quiet") || !strings.Contains(got, "loud") {
		t.Errorf("the log is %s", got)
	}
	out.Reset()
	telemetry.NewLogger(&out, "text", "info").Info("hello")
	if got := out.String(); !strings.Contains(got, "level=INFO msg=hello") {
		t.Errorf("the log is %s", got)
	}
}
