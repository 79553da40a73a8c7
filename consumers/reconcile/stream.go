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
	mayBeEmpty   bool

	read reading
}

// reading is what was read of a stream.
type reading struct {
	messages, unreadable, others int64 // others are of types that tell nothing of the fact
	records                      int64
	last                         uint64 // sequence
}

// Stream is the truth of a stream: the events of the types that the description says tell the fact, stored
// since a time and before another, by the clock of the broker; zero is no bound. It ends at the message
// that was the last when it began, or where nothing is left when that one was deleted. Errors, beside those of the
// broker: [*walk.EndError] when its end could not be reached, or when messages were removed that had not been read; nothing was
// compared then.
func Stream(js jetstream.JetStream, name string, t effects.Table, since, until time.Time) Truth {
	return &stream{js: js, name: name, t: t.WithDefaults(), since: since, until: until}
}

// MayBeEmpty is a stream in which no event may tell the fact, as on a quiet day. Without it that is a [*TruthError]:
// with a wrong window, stream or type everything would be explained.
func MayBeEmpty(t Truth) Truth {
	if s, is := t.(*stream); is {
		quiet := *s
		quiet.mayBeEmpty = true
		return &quiet
	}
	return t
}

func (s *stream) Name() string { return "stream " + s.name }

func (s *stream) Records(ctx context.Context, each func(Record) error) error {
	if len(s.t.Told) == 0 {
		return &effects.Error{Problems: []string{"told: says which events tell the fact; needed to compare with a stream"}}
	}
	begin, found, err := s.describe(ctx)
	if err != nil {
		return fmt.Errorf("read stream %s: %w", s.name, err)
	}
	return s.records(ctx, begin, found, each)
}

// records reads a stream that was described.
func (s *stream) records(ctx context.Context, begin uint64, found *jetstream.StreamInfo, each func(Record) error) error {
	s.read = reading{}
	err := walk.Stream(ctx, s.js, found, walk.Config{From: begin, Patience: s.patience}, func(m walk.Message) error {
		s.read.messages++
		s.read.last = m.Sequence
		if m.Stored.Before(s.since) {
			return nil
		}
		if !s.until.IsZero() && !m.Stored.Before(s.until) {
			return nil
		}
		return s.record(m, each)
	})
	if err != nil {
		return err
	}
	if n := s.removed(begin, found.State); n > 0 {
		return &walk.EndError{Stream: s.name, After: s.read.last, Err: fmt.Errorf("%d %w", n, walk.ErrRemoved)}
	}
	if s.read.records == 0 && !s.mayBeEmpty {
		return &TruthError{Ref: s.Name(), Reason: fmt.Sprintf("no event tells the fact: of %d messages %d are no events and %d are of other types", s.read.messages, s.read.unreadable, s.read.others),
			hint: "see whether stream, window and told of the description are right; if no event is to be expected, allow that"}
	}
	return nil
}

// describe returns where the window begins and what the stream has, with the gaps in it.
func (s *stream) describe(ctx context.Context) (begin uint64, found *jetstream.StreamInfo, err error) {
	if !s.since.IsZero() { // first, so that what is removed between the two is missing
		if begin, _, err = walk.From(ctx, s.js, s.name, s.since); err != nil {
			return 0, nil, err
		}
	}
	stream, err := s.js.Stream(ctx, s.name)
	if err != nil {
		return 0, nil, err
	}
	if found, err = stream.Info(ctx, jetstream.WithDeletedDetails(true)); err != nil {
		return 0, nil, err
	}
	if s.since.IsZero() {
		begin = found.State.FirstSeq
	}
	return begin, found, nil
}

// removed returns how many messages were not read that the stream had when the reading began. Gaps that it had
// then are none.
func (s *stream) removed(begin uint64, had jetstream.StreamState) uint64 {
	if begin > had.LastSeq {
		return 0
	}
	there := had.LastSeq - begin + 1
	for _, gap := range had.Deleted {
		if gap >= begin && gap <= had.LastSeq {
			there--
		}
	}
	return there - min(there, uint64(s.read.messages))
}

// record gives what one message tells. What is no event, or of another type, tells nothing.
func (s *stream) record(m walk.Message, each func(Record) error) error {
	e, err := wire.Decode(m.Header, m.Data)
	if err != nil {
		s.read.unreadable++ // a consumer makes a dead letter of it
		return nil
	}
	names, tells := s.t.Told[e.Type()]
	if !tells {
		s.read.others++
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
	s.read.records++
	return each(record)
}
