package consumers

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// delivery is one delivery of a message. It is settled exactly once.
type delivery struct {
	msg       jetstream.Msg
	seq       uint64 // in the stream
	times     uint64 // how often the broker delivered it, this time included
	event     event.Event
	key       string // "" is alone
	keyErr    error  // the service's Key panicked
	decodeErr error
	// ended is called when a message of a range that is replayed is settled: it has no room of its own. Such a
	// message may have been given up before.
	ended func()
	once  sync.Once
}

// take begins with a message, behind others of its key. It does not wait.
func (c *Consumer) take(msg jetstream.Msg) { c.begin(&delivery{msg: msg, times: 1}) }

// begin decodes a message and queues it.
func (c *Consumer) begin(d *delivery) {
	msg := d.msg
	if meta, err := msg.Metadata(); err == nil {
		d.seq, d.times = meta.Sequence.Stream, meta.NumDelivered
	}
	d.decodeErr = guard(func() (err error) {
		d.event, err = c.cfg.Decode(msg.Headers(), msg.Data())
		return err
	})
	if d.decodeErr == nil {
		d.keyErr = guard(func() error {
			d.key = c.cfg.Key(d.event)
			return nil
		})
	}
	c.held.add(d)
	c.keys.run(d)
}

// handle settles what a worker took: in one transaction what can be, and each alone otherwise.
func (c *Consumer) handle(hard, soft context.Context, batch []*delivery) {
	if len(batch) > 1 && soft.Err() == nil {
		batch = c.deliverTogether(hard, batch)
	}
	for _, d := range batch {
		if soft.Err() != nil {
			c.metrics.delivered(hard, c.later(hard, d, deliveryStopped, c.cfg.RetryMin))
		} else {
			c.deliver(hard, d)
		}
		c.done(d)
	}
}

// done makes room for another message.
func (c *Consumer) done(d *delivery) {
	c.settled.Store(int64(time.Since(c.began)))
	c.held.letGo(d)
	if d.ended != nil {
		d.ended()
		return
	}
	c.held.free(1)
}

// deliver handles a message and settles it.
func (c *Consumer) deliver(hard context.Context, d *delivery) {
	ctx, span := c.span(hard, d)
	c.told(ctx, span, c.judge(ctx, d))
}

// told records what became of a delivery.
func (c *Consumer) told(ctx context.Context, span trace.Span, outcome deliveryOutcome) {
	c.metrics.delivered(ctx, outcome)
	span.SetAttributes(labelOutcome.String(string(outcome)))
	switch outcome {
	case deliveryFailed, deliveryUnproven, deliveryOutage, deliveryDead, deliveryUnsettled:
		span.SetAttributes(semconv.ErrorTypeKey.String(string(outcome)))
		span.SetStatus(codes.Error, string(outcome))
	}
	span.End()
}

// judge decides what becomes of a message and tells the broker.
func (c *Consumer) judge(ctx context.Context, d *delivery) deliveryOutcome {
	if c.paused.Load() {
		return c.later(ctx, d, deliveryPaused, c.cfg.RetryMin)
	}
	if c.applier.sick() {
		return c.later(ctx, d, deliveryOutage, c.delay(d.times, c.cfg.OutageMax))
	}
	if d.times > 1 || d.ended != nil {
		gone, err := c.buried(ctx, d)
		switch {
		case err != nil:
			return c.outage(ctx, d, err)
		case gone: // the broker has not heard that it was given up
			return c.term(d, deliveryDead)
		}
	}
	if d.decodeErr != nil {
		return c.undecoded(ctx, d)
	}
	if d.keyErr != nil {
		return c.failed(ctx, d, d.keyErr)
	}
	w := guarded
	if d.times > 1 || d.ended != nil { // it went wrong before, or is a replay: what is wrong is found sooner
		w = careful
	}
	result, err := c.applier.applyBy(ctx, w, d.event)
	if err == nil {
		return c.ack(ctx, d, deliveryOutcome(result.Outcome))
	}
	if context.Cause(ctx) != nil {
		return c.later(ctx, d, deliveryStopped, c.cfg.RetryMin)
	}
	switch Classify(err) {
	case Held:
		return c.later(ctx, d, deliveryPaused, c.cfg.RetryMin)
	case Quarantine:
		return c.later(ctx, d, deliveryQuarantined, c.delay(d.times, c.cfg.RetryMax))
	case Outage, Again:
		return c.outage(ctx, d, err)
	case PermanentlyFailed:
		return c.giveUp(ctx, d, reasonOf(err), err, 1)
	}
	return c.failed(ctx, d, err)
}

// undecoded is a message that is no event, or a broken one.
func (c *Consumer) undecoded(ctx context.Context, d *delivery) deliveryOutcome {
	if errors.Is(d.decodeErr, wire.ErrNotCloudEvent) {
		if c.cfg.Foreign == ForeignSkip {
			return c.ack(ctx, d, deliveryForeign)
		}
		return c.giveUp(ctx, d, notAnEvent, d.decodeErr, 1)
	}
	if errors.As(d.decodeErr, new(*PanicError)) { // a defect of the service, which would give up all that it has
		return c.outage(ctx, d, d.decodeErr)
	}
	return c.giveUp(ctx, d, malformed, d.decodeErr, 1)
}

// outage comes again later, however often; nothing is counted.
func (c *Consumer) outage(ctx context.Context, d *delivery, err error) deliveryOutcome {
	delay := c.delay(d.times, c.cfg.OutageMax)
	c.log.WarnContext(ctx, "an event waits for something that is away", c.about(d, "cause", kindOf(err), "delay", delay)...)
	c.log.DebugContext(ctx, "why an event waits", c.about(d, "error", err)...)
	return c.later(ctx, d, deliveryOutage, delay)
}

// failed counts an attempt. It is the database that counts, so that while it is away nothing is.
func (c *Consumer) failed(ctx context.Context, d *delivery, err error) deliveryOutcome {
	outcome := deliveryFailed
	var unproven *ProofError
	if errors.As(err, &unproven) {
		outcome = deliveryUnproven
	}
	counting, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.SettleTimeout)
	defer cancel()
	var attempts int
	if countErr := c.pool.QueryRow(counting, c.sql.failed, c.cfg.Name, d.event.Source(), d.event.ID()).Scan(&attempts); countErr != nil {
		return c.outage(ctx, d, countErr)
	}
	if attempts >= c.cfg.Attempts {
		reason := exhausted
		if errors.As(err, new(*PanicError)) {
			reason = panicked
		}
		return c.giveUp(ctx, d, reason, err, 0)
	}
	delay := c.delay(uint64(attempts), c.cfg.RetryMax)
	c.log.WarnContext(ctx, "an event failed: it is tried again", c.about(d, "outcome", outcome, "attempts", attempts, "cause", kindOf(err), "delay", delay)...)
	c.log.DebugContext(ctx, "why an event failed", c.about(d, "error", err)...)
	return c.later(ctx, d, outcome, delay)
}

// about are the fields of a log line about a message: ids and types, nothing of its data.
func (c *Consumer) about(d *delivery, more ...any) []any {
	fields := []any{"stream_seq", d.seq, "delivery", d.times}
	if d.decodeErr == nil {
		fields = append(fields, "event_id", d.event.ID(), "event_type", d.event.Type())
	}
	return append(fields, more...)
}

// span begins the span of a delivery, a root with a link to where the event was created: an
// event may be handled years later, and more than once.
func (c *Consumer) span(ctx context.Context, d *delivery) (context.Context, trace.Span) {
	attributes := []attribute.KeyValue{
		semconv.MessagingSystemKey.String("nats"), semconv.MessagingOperationName("process"), semconv.MessagingOperationTypeProcess,
		semconv.MessagingDestinationName(c.cfg.Stream), semconv.MessagingConsumerGroupName(c.cfg.Name),
	}
	opts := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer)}
	if d.decodeErr == nil {
		attributes = append(attributes, semconv.MessagingMessageID(d.event.ID()), semconv.CloudEventsEventID(d.event.ID()),
			semconv.CloudEventsEventSource(d.event.Source()), semconv.CloudEventsEventType(d.event.Type()))
		carrier := propagation.MapCarrier{}
		for _, name := range []string{"traceparent", "tracestate"} {
			if text, ok := d.event.Extensions()[name].(string); ok {
				carrier[name] = text
			}
		}
		origin := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
		if origin.IsValid() {
			opts = append(opts, trace.WithLinks(trace.Link{SpanContext: origin}))
		}
	}
	return c.tracer.Start(ctx, "process "+c.cfg.Stream, append(opts, trace.WithAttributes(attributes...))...)
}
