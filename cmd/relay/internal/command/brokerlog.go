package command

import (
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// brokerLog hears what the NATS client has to say between calls. The relay logs by itself
// that the broker is away; what it cannot know is that the server is there and
// refuses the login. The client tries again for ever, so that is said once a period.
type brokerLog struct {
	log *slog.Logger

	mu     sync.Mutex
	err    error // the last refusal; nil while connected
	logged time.Time
}

// brokerLogPeriod is how often a refusal is logged.
const brokerLogPeriod = time.Minute

// options make a connection report here.
func (b *brokerLog) options() []nats.Option {
	return []nats.Option{
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { b.failed(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { b.failed(err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { b.log.Debug("disconnected from nats", "error", err) }),
		nats.ConnectHandler(func(nc *nats.Conn) { b.connected(nc) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { b.connected(nc) }),
	}
}

func (b *brokerLog) failed(err error) {
	b.log.Debug("nats client", "error", err)
	if !isDenied(err) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
	if now := time.Now(); now.Sub(b.logged) >= brokerLogPeriod {
		b.logged = now
		b.log.Warn("nats refuses the relay: trying again", "error", err,
			"hint", "check the credentials and the permissions of the NATS user")
	}
}

func (b *brokerLog) connected(nc *nats.Conn) {
	b.log.Debug("connected to nats", "server", nc.ConnectedUrlRedacted())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = nil
}

// denied returns the refusal that keeps the relay from the broker, or nil.
func (b *brokerLog) denied() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
