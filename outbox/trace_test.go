package outbox_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/outbox"
)

const (
	traceparent = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"
	tracestate  = "vendor=value"
)

// inTrace returns a context with a span and one member of baggage of a given size.
func inTrace(t *testing.T, baggageSize int) context.Context {
	t.Helper()
	state, err := trace.ParseTraceState(tracestate)
	if err != nil {
		t.Fatal(err)
	}
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, SpanID: trace.SpanID{1, 2, 3, 4, 5, 6, 7, 8},
		TraceFlags: trace.FlagsSampled, TraceState: state,
	}))
	if baggageSize == 0 {
		return ctx
	}
	member, err := baggage.NewMemberRaw("k", strings.Repeat("v", baggageSize-len("k=")))
	if err != nil {
		t.Fatal(err)
	}
	bag, err := baggage.New(member)
	if err != nil {
		t.Fatal(err)
	}
	return baggage.ContextWithBaggage(ctx, bag)
}

// extensionsOf returns the extensions that staging would send for an event.
func extensionsOf(ctx context.Context, t *testing.T, p *outbox.Publisher, e event.Event) map[string]any {
	t.Helper()
	var tx recorder
	if _, err := p.PublishTx(ctx, &tx, e); err != nil {
		t.Fatal(err)
	}
	column, _ := tx.args[8].([]*string)
	if column == nil {
		return nil
	}
	var extensions map[string]any
	if err := json.Unmarshal([]byte(*column[0]), &extensions); err != nil {
		t.Fatal(err)
	}
	return extensions
}

func newPublisher(t *testing.T, config outbox.Config) *outbox.Publisher {
	t.Helper()
	p, err := outbox.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTraceIsCaptured(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, outbox.Config{})
	own := newEvent("own")
	own.SetExtension("traceparent", "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-00")
	tenant := newEvent("tenant")
	tenant.SetExtension("tenant", "a")
	ownBaggage := newEvent("baggage")
	ownBaggage.SetExtension("baggage", "mine=1")
	for _, c := range []struct {
		name  string
		ctx   context.Context
		event event.Event
		want  map[string]any
	}{
		{"no trace", t.Context(), newEvent("x"), nil},
		{"trace", inTrace(t, 0), newEvent("x"), map[string]any{"traceparent": traceparent, "tracestate": tracestate}},
		{"trace and baggage", inTrace(t, 5), tenant, map[string]any{"traceparent": traceparent, "tracestate": tracestate, "baggage": "k=vvv", "tenant": "a"}},
		{"event of another trace", inTrace(t, 5), own, map[string]any{"traceparent": "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-00"}},
		{"event with baggage", inTrace(t, 5), ownBaggage, map[string]any{"traceparent": traceparent, "tracestate": tracestate, "baggage": "mine=1"}},
	} {
		if diff := cmp.Diff(c.want, extensionsOf(c.ctx, t, p, c.event)); diff != "" {
			t.Errorf("%s: extensions (-want +got):\n%s", c.name, diff)
		}
	}
	if len(tenant.Extensions()) != 1 {
		t.Errorf("the argument was changed: %v", tenant.Extensions())
	}
}

// TestTraceNeverInvalidates fills an event's own extensions more and more: what is
// captured gives way, and the event is accepted at every size.
func TestTraceNeverInvalidates(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, outbox.Config{})
	const limit = 8192
	// {"own": "..."}, and for each further member: , "name": "value"
	object := func(own int) int { return own + len(`{"own": ""}`) }
	further := func(name, value string) int { return len(name) + len(value) + len(`, "": ""`) }
	parent, state, bag := further("traceparent", traceparent), further("tracestate", tracestate), further("baggage", strings.Repeat("x", 1000))
	for _, c := range []struct {
		name string
		own  int
		want []string
	}{
		{"all fits", limit - object(0) - parent - state - bag, []string{"traceparent", "tracestate", "baggage"}},
		{"baggage is dropped", limit - object(0) - parent - state - bag + 1, []string{"traceparent", "tracestate"}},
		{"parent and state fit", limit - object(0) - parent - state, []string{"traceparent", "tracestate"}},
		{"state is dropped", limit - object(0) - parent - state + 1, []string{"traceparent"}},
		{"parent fits", limit - object(0) - parent, []string{"traceparent"}},
		{"parent is dropped, and the state with it", limit - object(0) - parent + 1, nil},
		{"nothing fits", limit - object(0), nil},
	} {
		e := newEvent("x")
		e.SetExtension("own", strings.Repeat("o", c.own))
		got := extensionsOf(inTrace(t, 1000), t, p, e)
		want := map[string]bool{"own": true}
		for _, name := range c.want {
			want[name] = true
		}
		for name := range got {
			if !want[name] {
				t.Errorf("%s: has %s", c.name, name)
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("%s: lacks %v", c.name, want)
		}
	}
	// The largest baggage that OpenTelemetry keeps does not fit beside a traceparent.
	if got := extensionsOf(inTrace(t, 8192), t, p, newEvent("x")); len(got) != 2 {
		t.Errorf("beside a baggage of 8192 bytes there are %d extensions", len(got))
	}
}

// headers is a propagator with names and values that are no extensions.
type headers map[string]string

func (h headers) Inject(_ context.Context, carrier propagation.TextMapCarrier) {
	for name, v := range h {
		carrier.Set(name, v)
	}
}
func (h headers) Extract(ctx context.Context, _ propagation.TextMapCarrier) context.Context {
	return ctx
}
func (h headers) Fields() []string { return nil }

func TestOtherPropagators(t *testing.T) {
	t.Parallel()
	strange := headers{"b3": "1-2", "x-b3-traceid": "1", "X-Amzn": "1", "type": "x", "partitionkey": "k", "empty": "", "bad": "a\nb"}
	got := extensionsOf(t.Context(), t, newPublisher(t, outbox.Config{Propagator: strange}), newEvent("x"))
	if diff := cmp.Diff(map[string]any{"b3": "1-2"}, got); diff != "" {
		t.Errorf("extensions (-want +got):\n%s", diff)
	}
	none := newPublisher(t, outbox.Config{Propagator: propagation.NewCompositeTextMapPropagator()})
	if got := extensionsOf(inTrace(t, 5), t, none, newEvent("x")); got != nil {
		t.Errorf("without a propagator there are extensions %v", got)
	}
}
