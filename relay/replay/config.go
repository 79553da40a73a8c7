package replay

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
)

// Config are the settings of a replay. The zero value of a field means its default.
type Config struct {
	// Relay names the database schema, the group whose settled events are replayed, and the stream
	// that takes them, and says how events are put on the wire. Relay.Stream is required.
	Relay relay.Config
	// Since and Until bound the events by when they entered the log. Since is required. Until
	// defaults to now.
	Since, Until time.Time
	// Type and Key choose events of one type, of one ordering key. Default to all.
	Type, Key string
	// Prefix stands for {prefix} in the subject template instead of Relay.SubjectPrefix.
	// Defaults to that.
	Prefix string
	// Epoch tells this replay from others in its message ids, 1 or more. Defaults to the
	// microseconds since 1970 by the clock of the database. The stream drops what has the ids of another replay
	// within its dedup window.
	Epoch int64
	// After continues a replay behind this number of the log. Defaults to the beginning of the window.
	After int64
	// Limit is how many events are replayed at most, 0 or more. Defaults to all.
	Limit int64
	// Rate is how many events are published in a second, 0 or more. Defaults to no limit.
	Rate float64
	// LeaveStrays leaves out events whose subjects the stream does not have, also when they come first. Without it a
	// first chunk of nothing else is an error: the stream is taken for the wrong one.
	LeaveStrays bool
	// Progress is told after every chunk what was done so far. Defaults to nobody.
	Progress func(Result)
}

func (c Config) withDefaults() Config {
	if c.Relay.Schema == "" {
		c.Relay.Schema = "outbox"
	}
	if c.Relay.Group == "" {
		c.Relay.Group = "default"
	}
	if c.Relay.SubjectTemplate == "" {
		c.Relay.SubjectTemplate = wire.DefaultSubject
	}
	if c.Prefix != "" {
		c.Relay.SubjectPrefix = c.Prefix
	}
	if c.Progress == nil {
		c.Progress = func(Result) {}
	}
	return c
}

// ErrNoGroup: the database has no relay group of this name.
var ErrNoGroup = errors.New("there is no such relay group")

// Validate returns why there can be no replay with these settings. It asks nobody. Errors: a
// [*wire.ConfigError], as for a prefix that no subject can begin with.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Relay.Stream == "":
		return errors.New("the name of the stream is required")
	case c.Since.IsZero():
		return errors.New("since is required: a replay of everything has to be asked for")
	case !c.Until.IsZero() && !c.Since.Before(c.Until):
		return errors.New("since must be before until")
	case c.Prefix != "" && !strings.Contains(c.Relay.SubjectTemplate, "{prefix}"):
		return fmt.Errorf("the subject template %q has no {prefix} that another one could stand for", c.Relay.SubjectTemplate)
	case c.Epoch < 0:
		return fmt.Errorf("epoch %d: must be 1 or more", c.Epoch)
	case c.Limit < 0:
		return fmt.Errorf("limit %d: must not be negative", c.Limit)
	case !(c.Rate >= 0) || math.IsInf(c.Rate, 1):
		return fmt.Errorf("rate %g: must be a number, and not negative", c.Rate)
	}
	_, err := c.encoder()
	return err
}
