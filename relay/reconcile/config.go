package reconcile

import (
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/relay"
)

// Config are the settings of a comparison. The zero value of a field means its default.
type Config struct {
	// Relay names the stream, the database schema and the group, and says how events are
	// put on the wire. Relay.Stream is required.
	Relay relay.Config
	// Since and Until bound the events that are expected, by when they entered the log.
	// Default to no bound.
	Since, Until time.Time
	// Skew is how much the clocks of the database and of the NATS server may differ, and how
	// much of the stream is read before Since. Defaults to 1 min.
	Skew time.Duration
	// MaxEntries is how many events are compared in one pass, at 48 bytes each. Defaults to
	// 1,048,576.
	MaxEntries int
	// Examples is how many examples of a class are reported. Defaults to 10; below 0 none.
	Examples int
	// Repair publishes what is missing. Defaults to only counting it.
	Repair bool
	// Progress is told how many events and messages have been read, after every 100,000 of them.
	// Defaults to nobody.
	Progress func(events, messages int64)
}

func (c Config) withDefaults() Config {
	if c.Relay.Schema == "" {
		c.Relay.Schema = "outbox"
	}
	if c.Relay.Group == "" {
		c.Relay.Group = "default"
	}
	if c.Skew == 0 {
		c.Skew = time.Minute
	}
	if c.MaxEntries == 0 {
		c.MaxEntries = 1 << 20
	}
	if c.Examples == 0 {
		c.Examples = 10
	}
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Relay.Stream == "":
		return errors.New("the name of the stream is required")
	case c.MaxEntries < 1000:
		return errors.New("max entries: must be 1000 at least")
	case !c.Since.IsZero() && !c.Until.IsZero() && !c.Since.Before(c.Until):
		return errors.New("since must be before until")
	}
	return nil
}

// Errors that say why nothing was compared.
var (
	// ErrNoGroup: the database has no relay group of this name.
	ErrNoGroup = errors.New("there is no such relay group")
	// ErrConsumedStream: messages leave the stream when they are consumed, so that it says
	// nothing about what was published.
	ErrConsumedStream = errors.New("the stream keeps messages only until they are consumed")
)
