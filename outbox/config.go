package outbox

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/propagation"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Config is what a service can choose about its outbox. The zero value is what the
// package functions use.
type Config struct {
	// Schema is the database schema in which Holdfast is installed: a plain lower-case
	// identifier of at most 50 bytes. Defaults to "outbox".
	Schema string

	// Source is the CloudEvents source of events that have none: a URI reference of at
	// most 1024 bytes, such as "/orders". By default an event without a source is refused.
	Source string

	// MaxEventBytes bounds the payload of one event, in bytes, 1,024 to 64,000,000. It
	// must not be above the limit that the schema was rendered with, which the database
	// enforces in any case; [Publisher.Verify] compares the two. Defaults to 1,000,000.
	MaxEventBytes int

	// Propagator writes the trace context of the call into the event, see the package
	// documentation. A composite of nothing captures nothing. Defaults to W3C Trace
	// Context and W3C Baggage.
	Propagator propagation.TextMapPropagator

	// NotifyChannel has every call that stages events say NOTIFY on this channel, in the same
	// statement, for relays that listen (RELAY_LISTEN_CHANNEL). The commits of all
	// transactions that notify wait for one another, whatever their channel, so this is
	// for databases with few commits; [Wake] costs the database nothing. Held events notify
	// nobody: a release makes no wake-up of its own. A plain lower-case identifier of at most
	// 50 bytes. Defaults to none.
	NotifyChannel string
}

// withDefaults returns c with every zero field replaced by its default.
func (c Config) withDefaults() Config {
	params := canonical.DefaultParams()
	if c.Schema == "" {
		c.Schema = params.Schema
	}
	if c.MaxEventBytes == 0 {
		c.MaxEventBytes = params.MaxEventBytes
	}
	if c.Propagator == nil {
		c.Propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	}
	return c
}

// validate reports every field that is out of bounds.
func (c Config) validate() error {
	var errs []error
	if err := (canonical.Params{Schema: c.Schema, MaxEventBytes: c.MaxEventBytes}).Validate(); err != nil {
		errs = append(errs, err)
	}
	if c.NotifyChannel != "" && !canonical.ValidIdentifier(c.NotifyChannel) {
		errs = append(errs, fmt.Errorf("notify channel %q: must be a plain lower-case identifier of at most 50 bytes", shorten(c.NotifyChannel)))
	}
	if c.Source != "" && !validSource(c.Source) {
		errs = append(errs, fmt.Errorf("source %q: %s", shorten(c.Source), problemSource))
	}
	return errors.Join(errs...)
}
