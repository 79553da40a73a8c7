package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// Publisher puts events into a stream as a relay does, without a database: the same
// encoding, order and judgement of outcomes. Safe for concurrent use; order is kept
// within one call of Publish.
type Publisher struct {
	pub  *asyncPublisher
	fast *fastPublisher // nil unless Fast made it
}

// NewPublisher prepares a publisher with the stream, subject, mode and time-out settings of
// cfg; the others are not used. It publishes event by event. The connection should be
// made with [NATSOptions].
func NewPublisher(nc *nats.Conn, cfg Config) (*Publisher, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	pub, err := newAsyncPublisher(nc, cfg)
	if err != nil {
		return nil, err
	}
	return &Publisher{pub: pub}, nil
}

// WithIDSuffix returns a publisher that adds a text to the Nats-Msg-Id of every message, so that the
// stream takes events that it has already once more. It is for replays.
func (p *Publisher) WithIDSuffix(suffix string) *Publisher {
	pub := *p.pub
	pub.idSuffix = suffix
	return &Publisher{pub: &pub}
}

// Fast returns a publisher that publishes the events of a call as one fast batch. It is for events that
// nobody can have published before. It returns an error if the server or the stream does not
// allow it. What breaks a batch later is published event by event.
func (p *Publisher) Fast(ctx context.Context) (*Publisher, error) {
	stream, err := p.pub.js.Stream(ctx, p.pub.stream)
	if err != nil {
		return nil, fmt.Errorf("look at stream %s: %w", p.pub.stream, err)
	}
	fast := newFastPublisher(p.pub, PublisherFast, p.pub.ackTimeout, slog.New(slog.DiscardHandler))
	fast.learn(&stream.CachedInfo().Config)
	if choice := fast.chosen(); choice.Kind != PublisherFast {
		return nil, fmt.Errorf("fast batches are not possible: %s", choice.Reason)
	}
	return &Publisher{pub: p.pub, fast: fast}, nil
}

// RefusedError is returned by [Publisher.Publish] when the broker refused an event for itself: trying
// again as it is will not help. Others of the call may be stored.
type RefusedError struct {
	EventID string
	Code    retry.Code
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("publish: event %s is refused: %s", e.EventID, e.Code)
}

// Publish publishes the events, those of one key in their order, and returns nil when
// the stream has acknowledged all of them. Otherwise some may be stored; publishing all
// of them again is harmless while the stream remembers their ids. A [*RefusedError] or a
// [*SubjectError] is about one event; every other error is about the broker.
func (p *Publisher) Publish(ctx context.Context, events []outbox.Record) error {
	b := &batch{events: make([]event, len(events))}
	for i := range events {
		b.events[i] = event{Record: events[i], seq: int64(i)}
	}
	b.link()
	var fail failure
	if p.fast != nil {
		fail = p.fast.attempt(ctx, b)
	} else {
		fail = p.pub.attempt(ctx, b)
	}
	for i := range b.events {
		if e := &b.events[i]; e.refused != nil {
			return &RefusedError{EventID: e.ID, Code: e.refused.Code}
		}
	}
	if errors.Is(fail.err, jetstream.ErrNoStreamResponse) || errors.Is(fail.err, nats.ErrNoResponders) || fail.class == Unknown {
		if err := nobodyStores(ctx, p.pub.js, p.pub.stream, p.pub.encoder, fail.event); err != nil {
			fail.err = err
		}
	}
	if fail.class != "" {
		return fmt.Errorf("publish: %d of %d events are not acknowledged (%s): %w",
			len(events)-b.stored(), len(events), fail.class, fail.err)
	}
	return nil
}

func newAsyncPublisher(nc *nats.Conn, cfg Config) (*asyncPublisher, error) {
	encoder, err := cfg.encoder()
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc,
		// More than can be in flight, so that the client never stalls a lane.
		jetstream.WithPublishAsyncMaxPending(256*cfg.BatchSize),
		jetstream.WithPublishAsyncTimeout(2*cfg.AckTimeout))
	if err != nil {
		return nil, fmt.Errorf("new publisher: %w", err)
	}
	return &asyncPublisher{js: js, encoder: encoder, stream: cfg.Stream, ackTimeout: cfg.AckTimeout}, nil
}
