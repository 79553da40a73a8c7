package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// fromNoLane is the lane of a batch whose events are of several: what is due for a retry.
const fromNoLane int16 = -1

const (
	// maxLinks bounds the links of a batch span, as the SDK does by default. Each event
	// has a span with its own link besides.
	maxLinks = 128
	attrLane = attribute.Key("holdfast.lane")
	// attrOutcome is the class of what came out.
	attrOutcome = attribute.Key("holdfast.outcome")
)

// attempt is one publication attempt of a batch, as metrics and traces see it.
//
//	publish <stream>   CLIENT    the attempt; linked to the creation of its events
//	 |- publish <stream>   CLIENT    one event, while the attempt lasted; linked to its creation
//	 |- outbox <stream>    INTERNAL  the same event from its staging to its acknowledgement; linked too
//
// An event has spans when it was created in a trace that is sampled, and when the attempt stored
// it or the broker refused it. The trace context that an event carries is read and never
// changed: its consumers see the producer, not the relay.
type attempt struct {
	relay           *Relay
	ctx             context.Context
	batch           *batch
	lane            int16
	span            trace.Span
	start           time.Time
	stored, refused int // before the attempt
	traced          []created
}

// created is where an event of a batch was created.
type created struct {
	index  int
	origin trace.SpanContext
}

// send publishes what is open of a batch once, and tells metrics and traces what came of it.
func (r *Relay) send(ctx context.Context, lane int16, b *batch) failure {
	a := r.begin(ctx, lane, b)
	fail := r.pub.attempt(a.ctx, b)
	a.end(fail)
	return fail
}

func (r *Relay) begin(ctx context.Context, lane int16, b *batch) *attempt {
	a := &attempt{relay: r, batch: b, lane: lane, start: time.Now(), stored: b.stored(), refused: b.refused()}
	a.ctx, a.span = r.tracer.Start(ctx, "publish "+r.cfg.Stream, trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(a.start))
	if !a.span.IsRecording() {
		return a
	}
	a.span.SetAttributes(a.attributes(semconv.MessagingBatchMessageCount(b.open()))...)
	a.span.SetAttributes(r.server()...)
	for i := range b.events {
		e := &b.events[i]
		if e.streamSeq != 0 || e.waits() {
			continue
		}
		if origin := creation(e.Extensions); origin.IsSampled() {
			a.traced = append(a.traced, created{index: i, origin: origin})
			if len(a.traced) <= maxLinks {
				a.span.AddLink(trace.Link{SpanContext: origin})
			}
		}
	}
	return a
}

// end counts what came of the attempt and ends its spans.
func (a *attempt) end(fail failure) {
	now := time.Now()
	class := fail.class
	if class == "" {
		class = Stored
	}
	stored, refused := a.batch.stored()-a.stored, a.batch.refused()-a.refused
	a.relay.metrics.attempted(a.ctx, stored, refused, a.batch.open(), class, now.Sub(a.start))
	if !a.span.IsRecording() {
		return
	}
	for _, c := range a.traced {
		a.event(c, now)
	}
	a.span.SetAttributes(attrOutcome.String(string(class)))
	if class != Stored {
		a.span.SetAttributes(failed(class))
		a.span.SetStatus(codes.Error, string(class))
	}
	a.span.End(trace.WithTimestamp(now))
}

// event makes the spans of one event whose outcome is known.
func (a *attempt) event(c created, now time.Time) {
	e := &a.batch.events[c.index]
	class := Stored
	switch {
	case e.streamSeq != 0:
	case e.refused != nil:
		class = Refused
	default:
		return // it is tried again
	}
	about := a.attributes(semconv.MessagingMessageID(e.ID), semconv.MessagingMessageBodySize(len(e.Data)),
		semconv.CloudEventsEventID(e.ID), semconv.CloudEventsEventSource(e.Source), semconv.CloudEventsEventType(e.Type),
		attrOutcome.String(string(class)))
	link := trace.WithLinks(trace.Link{SpanContext: c.origin})
	_, span := a.relay.tracer.Start(a.ctx, "publish "+a.relay.cfg.Stream, trace.WithSpanKind(trace.SpanKindClient), link,
		trace.WithTimestamp(a.start), trace.WithAttributes(about...))
	if class == Refused {
		span.SetAttributes(failed(class))
		span.SetStatus(codes.Error, string(e.refused.Code))
	}
	span.End(trace.WithTimestamp(now))
	if class == Stored && !e.staged.IsZero() {
		_, span := a.relay.tracer.Start(a.ctx, "outbox "+a.relay.cfg.Stream, link,
			trace.WithTimestamp(earlier(e.staged, a.start)), trace.WithAttributes(about...))
		span.End(trace.WithTimestamp(now))
	}
}

// attributes are those of every span, and more.
func (a *attempt) attributes(more ...attribute.KeyValue) []attribute.KeyValue {
	all := append([]attribute.KeyValue{
		messagingSystem, messagingOperation, semconv.MessagingOperationTypeSend, semconv.MessagingDestinationName(a.relay.cfg.Stream),
	}, more...)
	if a.lane != fromNoLane {
		all = append(all, attrLane.Int(int(a.lane)))
	}
	return all
}

// server says which server the connection has now.
func (r *Relay) server() []attribute.KeyValue {
	host, port, err := net.SplitHostPort(r.js.Conn().ConnectedAddr())
	if err != nil {
		return nil // it has none
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return []attribute.KeyValue{semconv.ServerAddress(host)}
	}
	return []attribute.KeyValue{semconv.ServerAddress(host), semconv.ServerPort(n)}
}

// failed is the type of an error: its class, which is low in cardinality as the text is not.
func failed(class Class) attribute.KeyValue { return semconv.ErrorTypeKey.String(string(class)) }

// earlier returns the earlier of two times. The clocks of the database and of the pod may
// differ, and a span must not end before it begins.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// creation returns the context in which an event was created, as its extensions carry it. It is
// invalid when there is none, or none that can be read.
func creation(extensions []byte) trace.SpanContext {
	if !bytes.Contains(extensions, []byte(`"traceparent"`)) {
		return trace.SpanContext{}
	}
	var carried struct{ Traceparent, Tracestate any }
	if json.Unmarshal(extensions, &carried) != nil {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{}
	for name, value := range map[string]any{"traceparent": carried.Traceparent, "tracestate": carried.Tracestate} {
		if text, ok := value.(string); ok {
			carrier[name] = text
		}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
