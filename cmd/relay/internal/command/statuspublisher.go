package command

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/relay"
)

// statusPublisher says how events are put into the stream now.
type statusPublisher struct {
	Kind   string `json:"kind"` // fast, async, or unknown when the broker does not answer
	Reason string `json:"reason"`
	// Away: the broker does not take events, because it cannot be reached from here, or has no such stream.
	Away bool `json:"away"`

	// fromHere says that the broker cannot be reached from this host, which says nothing of the relays' own.
	fromHere bool
}

// brokerTimeout bounds what status asks of the broker, which is not what it is for.
const brokerTimeout = 2 * time.Second

// publisher asks the broker which publisher a relay uses. It returns nil if no stream is named.
func (l *statusLook) publisher(ctx context.Context) *statusPublisher {
	if l.settings.Stream == "" {
		return nil
	}
	if l.js != nil && !l.js.Conn().IsConnected() {
		l.close() // it does not come back by itself
	}
	if l.js == nil {
		js, err := dial(ctx, l.settings, func(error) {})
		if err != nil {
			return &statusPublisher{Kind: "unknown", Reason: err.Error(), Away: true, fromHere: true}
		}
		l.js = js
	}
	ctx, cancel := context.WithTimeout(ctx, brokerTimeout)
	defer cancel()
	stream, err := l.js.Stream(ctx, l.settings.Stream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return &statusPublisher{Kind: "unknown", Reason: "stream " + l.settings.Stream + " not found", Away: true}
	case err != nil:
		// A user that may not ask may publish all the same: the server does not answer it, and tells the connection.
		denied := isDenied(err) || isDenied(l.js.Conn().LastError())
		return &statusPublisher{Kind: "unknown", Reason: "stream " + l.settings.Stream + ": " + err.Error(), Away: !denied, fromHere: true}
	}
	c := relay.ChoosePublisher(l.settings.Publisher, l.js.Conn().ConnectedServerVersion(), &stream.CachedInfo().Config)
	return &statusPublisher{Kind: string(c.Kind), Reason: c.Reason}
}

func (l *statusLook) close() {
	if l.js != nil {
		l.js.Conn().Close()
		l.js = nil
	}
}
