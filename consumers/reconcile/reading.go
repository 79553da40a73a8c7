package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// streamPatience is how long a stream may give no message before its end.
	streamPatience = time.Minute
	// streamLook is how long a message is waited for before the broker is asked what is left.
	streamLook = 5 * time.Second
	// streamHeartbeat is how often the broker says that it is there. Two that do not come are noticed while a
	// message is waited for, so a look must be longer than that.
	streamHeartbeat = time.Second
)

// StallError is returned when a stream cannot be read to its end. Nothing was compared.
type StallError struct {
	Stream string
	// After is the sequence that was read last; 0 when none was.
	After    uint64
	Patience time.Duration
	// Err is what the broker says of the stream; nil when it says nothing is wrong.
	Err error
}

func (e *StallError) Error() string {
	text := fmt.Sprintf("read stream %s after sequence %d: no message within %s, and its end was not reached", e.Stream, e.After, e.Patience)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StallError) Unwrap() error { return e.Err }

// Hint says what a person can do.
func (e *StallError) Hint() string {
	return "half a truth explains nothing: see how the broker and the stream are, then read it again from the beginning"
}

// reading is one reading of a stream.
type reading struct {
	s        *stream
	last     uint64 // sequence at which it ends
	consumer jetstream.Consumer
	messages jetstream.MessagesContext
	at       jetstream.MsgMetadata // of the message that came last
}

// next returns the next message, and none where nothing is left: the last messages may have been deleted
// while it was read, so that none of them comes.
func (r *reading) next(ctx context.Context) (jetstream.Msg, error) {
	began := time.Now()
	// The client looks for a consumer that is gone for as long as it takes.
	cut := time.AfterFunc(r.s.patience, r.messages.Stop)
	defer cut.Stop()
	for {
		msg, err := r.messages.Next(jetstream.NextMaxWait(min(streamLook, r.s.patience)))
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			meta, err := msg.Metadata()
			if err != nil {
				return nil, r.s.failed(r.at.Sequence.Stream, err)
			}
			r.at = *meta
			return msg, nil
		case errors.Is(err, nats.ErrTimeout) && r.ended(ctx):
			return nil, nil
		case time.Since(began) >= r.s.patience:
			return nil, r.stalled(ctx)
		case !errors.Is(err, nats.ErrTimeout):
			return nil, r.s.failed(r.at.Sequence.Stream, err)
		}
	}
}

// ended reports whether the broker has nothing left to deliver, and nothing on the way.
func (r *reading) ended(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, streamLook)
	defer cancel()
	info, err := r.consumer.Info(ctx)
	if err != nil || info.NumPending > 0 {
		return false // unknown is no end
	}
	var came uint64 // from this consumer, which the client makes anew when it is lost
	if info.Name == r.at.Consumer {
		came = r.at.Sequence.Consumer
	}
	return info.Delivered.Consumer <= came
}

// stalled says that nothing comes, with what the broker says of the stream.
func (r *reading) stalled(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, streamLook)
	defer cancel()
	stall := &StallError{Stream: r.s.name, After: r.at.Sequence.Stream, Patience: r.s.patience}
	_, err := r.s.js.Stream(ask, r.s.name)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case ask.Err() != nil:
		stall.Err = errors.New("the broker does not answer")
	default:
		stall.Err = err
	}
	return stall
}
