package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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
	if e == nil || ctx.Err() != nil || !r.js.Conn().IsConnected() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(r.cfg.AckTimeout, explainTimeout))
	defer cancel()
	stream, err := r.js.Stream(ctx, r.cfg.Stream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("stream %s: %w", r.cfg.Stream, err)
	case err != nil:
		return nil
	}
	encoder, err := r.cfg.encoder()
	if err != nil {
		return nil
	}
	msg, err := encoder.Encode(&e.Record)
	if err != nil || takes(stream.CachedInfo().Config.Subjects, msg.Subject) {
		return nil
	}
	return fmt.Errorf("stream %s does not have the subject %s: %w", r.cfg.Stream, msg.Subject, jetstream.ErrNoStreamResponse)
}

// takes reports whether one of the patterns matches a subject.
func takes(patterns []string, subject string) bool {
	tokens := strings.Split(subject, ".")
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		p := strings.Split(pattern, ".")
		for i, token := range p {
			if token == ">" {
				return i < len(tokens)
			}
			if i >= len(tokens) || token != "*" && token != tokens[i] {
				return false
			}
		}
		return len(p) == len(tokens)
	})
}
