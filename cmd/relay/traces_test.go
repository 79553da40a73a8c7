package main

import (
	"encoding/hex"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	internal = tracepb.Span_SPAN_KIND_INTERNAL
	client   = tracepb.Span_SPAN_KIND_CLIENT
)

// TestTimeInTheOutboxIsATracesLink: one event was created in a sampled trace, one in a trace that is
// not sampled, and one in none. Only the first has spans, all are of the relay's own trace,
// and what the stream has is the context of the producer.
func TestTimeInTheOutboxIsATracesLink(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	to := newCollector(t)
	const (
		traceID   = "4bf92f3577b34da6a3ce929d0e0e4736"
		sampled   = "00-" + traceID + "-00f067aa0ba902b7-01"
		unsampled = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00f067aa0ba902b7-00"
	)
	for id, extensions := range map[string]string{
		"traced":   `{"traceparent":"` + sampled + `","tracestate":"shop=1"}`,
		"not":      `{"traceparent":"` + unsampled + `"}`,
		"without":  `{}`,
		"nonsense": `{"traceparent":7}`,
	} {
		if _, err := db.Pool.Exec(t.Context(), "select outbox.publish_text('/orders', 'order.placed', '{}', id => $1, extensions => $2)", id, extensions); err != nil {
			t.Fatal(err)
		}
	}
	var staged time.Time
	if err := db.Pool.QueryRow(t.Context(), "select staged_at from outbox.event_outbox where event_id = 'traced'").Scan(&staged); err != nil {
		t.Fatal(err)
	}
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(),
		"OTEL_EXPORTER_OTLP_ENDPOINT="+to.url, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_TRACES_SAMPLER=always_on")
	stored(t, js, 4)
	eventually(t, "the spans arrive", func() bool { return len(to.named("outbox ORDERS", internal)) > 0 })
	p.signal(syscall.SIGTERM) // which delivers the rest
	if code := p.wait(); code != 0 {
		t.Fatalf("exited with %d", code)
	}

	var batch, send, wait *tracepb.Span
	for _, s := range to.named("publish ORDERS", client) {
		switch {
		case attribute(s, "messaging.message.id") != "":
			if send != nil {
				t.Errorf("a second event has a span: %v", s)
			}
			send = s
		case len(s.GetLinks()) > 0:
			batch = s
		}
	}
	if waits := to.named("outbox ORDERS", internal); len(waits) == 1 {
		wait = waits[0]
	} else {
		t.Fatalf("%d spans of the time in the outbox, want 1", len(waits))
	}
	if batch == nil || send == nil {
		t.Fatalf("batch span %v, send span %v", batch, send)
	}
	for name, s := range map[string]*tracepb.Span{"batch": batch, "send": send, "wait": wait} {
		if len(s.GetLinks()) != 1 || hex.EncodeToString(s.GetLinks()[0].GetTraceId()) != traceID || hex.EncodeToString(s.GetLinks()[0].GetSpanId()) != "00f067aa0ba902b7" {
			t.Errorf("%s: links %v, want one to the creation of the event", name, s.GetLinks())
		}
		if hex.EncodeToString(s.GetTraceId()) == traceID {
			t.Errorf("%s: a part of the producer's trace, want a link to it", name)
		}
		if attribute(s, "messaging.system") != "nats" || attribute(s, "messaging.operation.type") != "send" ||
			attribute(s, "messaging.destination.name") != "ORDERS" || attribute(s, "holdfast.outcome") != "stored" {
			t.Errorf("%s: attributes %v", name, s.GetAttributes())
		}
	}
	if len(batch.GetParentSpanId()) != 0 || string(send.GetParentSpanId()) != string(batch.GetSpanId()) || string(wait.GetParentSpanId()) != string(batch.GetSpanId()) {
		t.Error("the spans of an event are not children of the span of its batch")
	}
	if got, want := wait.GetStartTimeUnixNano()/1000, uint64(staged.UnixMicro()); got != want {
		t.Errorf("the time in the outbox begins at %d us, want when the event was staged, %d us", got, want)
	}
	if wait.GetEndTimeUnixNano() < send.GetEndTimeUnixNano() {
		t.Error("the time in the outbox ends before the event was stored")
	}
	message, err := js.Stream(t.Context(), "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for seq := range uint64(4) {
		m, err := message.GetMsg(t.Context(), seq+1)
		if err != nil {
			t.Fatal(err)
		}
		if parent := m.Header.Get("ce-traceparent"); parent == sampled && m.Header.Get("ce-tracestate") == "shop=1" {
			found = true
		} else if strings.Contains(parent, hex.EncodeToString(send.GetTraceId())) {
			t.Errorf("the trace of the relay is in a message: %v", m.Header)
		}
	}
	if !found {
		t.Error("no message has the context in which its event was created")
	}
}

// TestSamplerIsTheStandardVariable: with always_off there are metrics and no spans.
func TestSamplerIsTheStandardVariable(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	to := newCollector(t)
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(), "OTEL_EXPORTER_OTLP_ENDPOINT="+to.url,
		"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_TRACES_SAMPLER=always_off", "OTEL_METRIC_EXPORT_INTERVAL=100",
		"OTEL_SERVICE_NAME=orders-relay", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test,broken")
	stage(t, db, 10)
	stored(t, js, 10)
	eventually(t, "metrics are pushed", func() bool {
		to.mu.Lock()
		defer to.mu.Unlock()
		return to.metrics["holdfast.relay.events.published"] && to.metrics["messaging.client.operation.duration"]
	})
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exited with %d", code)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if len(to.spans) != 0 {
		t.Errorf("%d spans in spite of the sampler", len(to.spans))
	}
	if to.resource["service.name"] != "orders-relay" || to.resource["holdfast.group"] != "default" || to.resource["service.instance.id"] == "" {
		t.Errorf("the resource is %v", to.resource)
	}
	if p.count("telemetry: OTEL_RESOURCE_ATTRIBUTES is not understood") != 1 {
		t.Error("the attribute that is none is not warned of")
	}
}
