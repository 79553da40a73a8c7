package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay/internal/subject"
)

// explainTimeout bounds the question after a silence; the batch is published again anyway.
const explainTimeout = time.Second

// explain finds out why nothing was acknowledged. A server that denies a publication does not
// answer it, but tells the connection. And where no stream has the subject, a plain
// subscriber on it takes the message without a word, which looks like a slow broker:
// the stream is asked.
func (r *Relay) explain(ctx context.Context, f failure) failure {
	if f.class != Unknown {
		return f
	}
	if why := r.nobodyStores(ctx, f.event); why != nil {
		return failure{class: Unavailable, err: why, event: f.event}
	}
	if last := r.js.Conn().LastError(); last != nil {
		f.err = fmt.Errorf("%w; the last error of the connection: %w", f.err, last)
		if errors.Is(last, nats.ErrPermissionViolation) {
			f.class = Unavailable
		}
	}
	return f
}

// nobodyStores returns why no stream takes the event, nil when one does or nobody can say.
func (r *Relay) nobodyStores(ctx context.Context, e *event) error {
	encoder, err := r.cfg.encoder()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(r.cfg.AckTimeout, explainTimeout))
	defer cancel()
	return nobodyStores(ctx, r.js, r.cfg.Stream, encoder, e)
}

func nobodyStores(ctx context.Context, js jetstream.JetStream, name string, encoder *wire.Encoder, e *event) error {
	if e == nil || ctx.Err() != nil || !js.Conn().IsConnected() {
		return nil
	}
	stream, err := js.Stream(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("stream %s: %w", name, err)
	case err != nil:
		return nil
	}
	msg, err := encoder.Encode(&e.Record)
	if err != nil || subject.Captured(stream.CachedInfo().Config.Subjects, msg.Subject) {
		return nil
	}
	return &SubjectError{Stream: name, Subject: msg.Subject}
}

// SubjectError says that the stream is there and does not have the subject of an event.
type SubjectError struct{ Stream, Subject string }

func (e *SubjectError) Error() string {
	return "stream " + e.Stream + " does not have the subject " + e.Subject
}

// Unwrap returns what the client says where nobody else listens on the subject.
func (e *SubjectError) Unwrap() error { return jetstream.ErrNoStreamResponse }
