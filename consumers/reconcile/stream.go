package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

// stream is what events say.
type stream struct {
	js           jetstream.JetStream
	name         string
	t            effects.Table
	since, until time.Time
	patience     time.Duration // 0 is the default
}

// Stream is the truth of a stream: the events of the types that the description says tell the fact, stored
// since a time and before another, by the clock of the broker; zero is no bound. It ends at the message
// that was the last when it began, or where nothing is left when that one was deleted. Errors, beside those of the
// broker: [*walk.EndError] when its end could not be reached; nothing was compared then.
func Stream(js jetstream.JetStream, name string, t effects.Table, since, until time.Time) Truth {
	return &stream{js, name, t.WithDefaults(), since, until, 0}
}

func (s *stream) Name() string { return "stream " + s.name }

func (s *stream) Records(ctx context.Context, each func(Record) error) error {
	if len(s.t.Told) == 0 {
		return &effects.Error{Problems: []string{"told: says which events tell the fact; needed to compare with a stream"}}
	}
	found, err := s.js.Stream(ctx, s.name)
	if err != nil {
		return fmt.Errorf("read stream %s: %w", s.name, err)
	}
	return walk.Stream(ctx, s.js, found.CachedInfo(), walk.Config{Since: s.since, Patience: s.patience}, func(m walk.Message) error {
		if !s.until.IsZero() && !m.Stored.Before(s.until) {
			return nil
		}
		return s.record(m, each)
	})
}

// record gives what one message tells. What is no event, or of another type, tells nothing.
func (s *stream) record(m walk.Message, each func(Record) error) error {
	e, err := wire.Decode(m.Header, m.Data)
	if err != nil {
		return nil // a consumer makes a dead letter of it
	}
	names, tells := s.t.Told[e.Type()]
	if !tells {
		return nil
	}
	ref := fmt.Sprintf("event %s at %d", e.ID(), m.Sequence)
	object, err := objectOf(e.Data())
	if err != nil {
		return &TruthError{Ref: ref, Reason: "has no JSON object as its data: " + err.Error(), hint: "told of the description names a type of event whose data cannot be read"}
	}
	record, err := fields(s.t, names, ref, func(field string) (string, bool) { return member(object, field) })
	if err != nil {
		return err
	}
	return each(record)
}
