package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestDeadCollectorHoldsUpNothing runs a relay with collectors that are there in no useful way. It
// publishes everything, answers its own scrapes, and ends by its own deadline, although the
// exporters would wait for ten minutes.
func TestDeadCollectorHoldsUpNothing(t *testing.T) {
	t.Parallel()
	for name, collector := range map[string]struct{ endpoint, protocol string }{
		"accepts and never answers":           {"http://" + silent(t), "http/protobuf"},
		"accepts and never answers over grpc": {"http://" + silent(t), "grpc"},
		"refuses":                             {"http://" + refusing(t), "http/protobuf"},
		"refuses over grpc":                   {"http://" + refusing(t), "grpc"},
		// An address for documentation: what is sent there comes back from nowhere.
		"is a black hole": {"http://192.0.2.1:4318", "http/protobuf"},
		"has no name":     {"http://collector.invalid:4318", "http/protobuf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
			js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
			p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(),
				"OTEL_EXPORTER_OTLP_ENDPOINT="+collector.endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL="+collector.protocol,
				"OTEL_EXPORTER_OTLP_TIMEOUT=600000", "OTEL_BSP_EXPORT_TIMEOUT=600000", "OTEL_METRIC_EXPORT_TIMEOUT=600000",
				"OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BSP_MAX_QUEUE_SIZE=64", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=8", "OTEL_METRIC_EXPORT_INTERVAL=50")
			for batch := range uint64(3) {
				stageTraced(t, db, 500) // far more spans than the queue takes
				stored(t, js, 500*(batch+1))
				if published, _ := p.scrape().sum("holdfast_relay_events_published_total"); published > float64(500*(batch+1)) {
					t.Errorf("%v events are counted", published)
				}
			}
			p.awaitReady(200)
			p.signal(syscall.SIGTERM)
			if code := p.wait(); code != 0 {
				t.Errorf("exited with %d", code)
			}
			if lanes := query(t, db, ownedLanes); lanes != 0 {
				t.Errorf("%d lanes are left behind", lanes)
			}
			if !strings.Contains(p.log(), "the last telemetry is not delivered") {
				t.Error("the log does not say that telemetry was lost")
			}
			if n := p.count("telemetry is incomplete"); n > 2 {
				t.Errorf("%d lines about the collector, want 1 a minute", n)
			}
		})
	}
}

func stageTraced(t *testing.T, db *outboxtest.Database, n int) {
	t.Helper()
	const sql = `select outbox.publish_text('/orders', 'order.placed', '{}', extensions =>
	               '{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}') from generate_series(1, $1::int)`
	if _, err := db.Pool.Exec(t.Context(), sql, n); err != nil {
		t.Fatal(err)
	}
}

// TestSDKCanBeDisabled leaves what a process says of itself, and the relay.
func TestSDKCanBeDisabled(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	to := newCollector(t)
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(), "OTEL_EXPORTER_OTLP_ENDPOINT="+to.url, "OTEL_SDK_DISABLED=true")
	stageTraced(t, db, 10)
	stored(t, js, 10)
	code, body := p.get("/metrics", "")
	if code != 200 || !strings.Contains(body, "go_goroutines ") || strings.Contains(body, "holdfast_") {
		t.Errorf("/metrics: %d\n%s", code, body)
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exited with %d", code)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if len(to.spans)+len(to.metrics) != 0 {
		t.Errorf("%d spans and %d metrics are pushed", len(to.spans), len(to.metrics))
	}
}
