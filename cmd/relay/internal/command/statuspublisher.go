package command

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/relay"
)

// statusPublisher says how events are put into the stream now.
type statusPublisher struct {
	Kind   string `json:"kind"` // fast, async, or unknown when the broker does not answer
	Reason string `json:"reason"`
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
			return &statusPublisher{"unknown", err.Error()}
		}
		l.js = js
	}
	ctx, cancel := context.WithTimeout(ctx, brokerTimeout)
	defer cancel()
	stream, err := l.js.Stream(ctx, l.settings.Stream)
	if err != nil {
		return &statusPublisher{"unknown", "stream " + l.settings.Stream + ": " + err.Error()}
	}
	c := relay.ChoosePublisher(l.settings.Publisher, l.js.Conn().ConnectedServerVersion(), &stream.CachedInfo().Config)
	return &statusPublisher{string(c.Kind), c.Reason}
}

func (l *statusLook) close() {
	if l.js != nil {
		l.js.Conn().Close()
		l.js = nil
	}
}
