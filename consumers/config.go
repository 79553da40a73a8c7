package consumers

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// Config are the settings of a [Consumer]. The zero value of a field means its default.
// Durations are measured by the process clock unless said otherwise. An [Applier] needs those
// of the first group only.
type Config struct {
	// Name is the consumer: its durable name on the stream, and its name in the tables; 1 to 64
	// bytes without white space, dots, slashes and wildcards. Required.
	Name string
	// Group is what one switch pauses, see [Control]: all writers of the same effects belong to
	// one group. 1 to 64 bytes. Defaults to Name.
	Group string
	// Schema is the database schema of the component consumer. Defaults to "outbox".
	Schema string
	// Effects says for each type of fact where its effect is: the default proof. Required for
	// handlers that claim facts, unless there is a Proof.
	Effects map[string]Effect
	// Proof finds effects in another way. Defaults to the join that Effects describes.
	Proof Proof
	// Probe tells the fact of an event from its payload alone, so that a replay is recognised
	// before the handler looks up anything. Defaults to none.
	Probe Probe
	// Strict keeps an event that tells a known fact in another way on the stream until somebody
	// resolves its quarantine. By default it is acknowledged once it is in quarantine.
	Strict bool
	// HandleTimeout is how long a transaction may take, and how long it may take again when it was not clear what was
	// wrong. A handler that ignores its context is left to itself two settle timeouts later, with its transaction
	// ended. Defaults to 1 minute.
	HandleTimeout time.Duration

	// Stream is the JetStream stream. Required.
	Stream string
	// Subjects are the subjects of the stream that this consumer wants. Defaults to all.
	Subjects []string
	// AckWait is how long a message may go without a word before the broker delivers it again,
	// 1 second at least. A message that waits or is handled is spoken for every third of it.
	// Defaults to 30 seconds.
	AckWait time.Duration
	// MaxAckPending is how many messages all instances together may have. Defaults to 1,000.
	MaxAckPending int
	// Concurrency is how many messages are handled at once. Each needs one connection of the
	// pool, and sometimes a second one for a moment. Defaults to 8.
	Concurrency int
	// Batch is how many events one transaction applies at most. With more than one, what is ready
	// when a worker is free shares a transaction, in which the handler runs for each, in order;
	// each effect is proven by itself. When anything goes wrong the transaction is rolled back and
	// each of its events has one of its own; a message that was delivered before always has. What
	// tells the same facts at the same time, as two types of events may, can meet in opposite order,
	// and Postgres ends one of the two transactions: it costs time and a line in its log. Defaults to 1.
	Batch int
	// Together handles the events of a batch with statements that take many rows, in place of the
	// handler, which still handles what is alone. Defaults to calling the handler for each.
	Together BatchHandler
	// Buffer is how many messages this instance holds, those that are handled among them.
	// Defaults to 4 times Concurrency times Batch, but at most MaxAckPending unless Concurrency is more.
	Buffer int
	// Key is what is handled one after the other, in the order of delivery; "" is alone. A message
	// that is delivered again comes later than those behind it. Defaults to the extension
	// partitionkey, else the subject of the event.
	Key func(event.Event) string
	// Decode reads a message. Defaults to wire.Decode: structured and binary CloudEvents.
	Decode func(nats.Header, []byte) (event.Event, error)
	// Foreign says what becomes of a message that is no CloudEvent. Defaults to ForeignDeadLetter.
	Foreign Foreign
	// Attempts is how often an event may fail before it is a dead letter. An outage is no
	// attempt. Defaults to 10.
	Attempts int
	// RetryMin and RetryMax bound the pause before a message that was not acknowledged comes again;
	// it doubles with each delivery. Default to 1 second and 5 minutes.
	RetryMin, RetryMax time.Duration
	// OutageMax bounds that pause after an outage. Defaults to 30 seconds.
	OutageMax time.Duration
	// FetchWait is how long one request for messages may wait. Defaults to 5 seconds.
	FetchWait time.Duration
	// SettleTimeout is how long the broker may take to confirm an acknowledgement, and the
	// database for a statement beside the transaction. Defaults to 5 seconds.
	SettleTimeout time.Duration
	// StopTimeout is how long a stopping consumer waits for what is being handled. Defaults to 10 seconds.
	StopTimeout time.Duration

	// ControlEvery is the pause between two looks at the switch. Defaults to 1 second.
	ControlEvery time.Duration
	// MeasureEvery is the pause between two measurements of consumer and database. Defaults to 15 seconds.
	MeasureEvery time.Duration
	// SilentAfter is how long messages may be pending while none arrives before the consumer
	// says so and asks anew. Defaults to 1 minute.
	SilentAfter time.Duration
	// ReplayEvery is the pause between two looks for replays that somebody requested. Defaults to 5 seconds.
	ReplayEvery time.Duration
	// PruneEvery is the pause between two prunings. Defaults to 10 minutes.
	PruneEvery time.Duration
	// InboxRetention is how long deliveries stay in the inbox, by the clock of the database; 24
	// hours at least, because it also counts attempts. It is housekeeping: facts decide
	// what is applied, and are kept for ever. Defaults to 30 days.
	InboxRetention time.Duration
	// DeadLetterRetention is how long dead letters stay after they were resolved or discarded, by
	// the clock of the database. Others stay. Defaults to 90 days.
	DeadLetterRetention time.Duration

	// MeterProvider and TracerProvider take metrics and traces. Default to the global ones.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
	// Logger takes what the consumer has to say. Defaults to slog.Default().
	Logger *slog.Logger
}

// Foreign is what becomes of a message that is no CloudEvent.
type Foreign string

// The policies.
const (
	ForeignDeadLetter Foreign = "dead_letter" // it is a dead letter at once
	ForeignSkip       Foreign = "skip"        // it is acknowledged and counted
)

// Probe tells the fact of an event from its immutable payload, or false. A fact that is known is
// not handled again: its effect is proven and the message acknowledged. Only the identity
// counts, and those attributes that the probe gives; when one differs, the handler decides.
// It must call nothing outside and be safe for concurrent use.
type Probe func(event.Event) (facts.Fact, bool)

// ConfigError is returned for settings that cannot work. It names every one.
type ConfigError struct{ Problems []string }

func (e *ConfigError) Error() string { return "configure consumer: " + strings.Join(e.Problems, "; ") }

const minRetention = 24 * time.Hour

func (c Config) withDefaults() Config {
	setDefault(&c.Group, c.Name)
	setDefault(&c.Schema, "outbox")
	setDefault(&c.HandleTimeout, time.Minute)
	setDefault(&c.AckWait, 30*time.Second)
	setDefault(&c.MaxAckPending, 1000)
	setDefault(&c.Concurrency, 8)
	setDefault(&c.Batch, 1)
	setDefault(&c.Buffer, max(min(4*c.Concurrency*c.Batch, c.MaxAckPending), c.Concurrency))
	setDefault(&c.Foreign, ForeignDeadLetter)
	setDefault(&c.Attempts, 10)
	setDefault(&c.RetryMin, time.Second)
	setDefault(&c.RetryMax, max(5*time.Minute, c.RetryMin))
	setDefault(&c.OutageMax, max(30*time.Second, c.RetryMin))
	setDefault(&c.FetchWait, 5*time.Second)
	setDefault(&c.SettleTimeout, 5*time.Second)
	setDefault(&c.StopTimeout, 10*time.Second)
	setDefault(&c.ControlEvery, time.Second)
	setDefault(&c.MeasureEvery, 15*time.Second)
	setDefault(&c.SilentAfter, time.Minute)
	setDefault(&c.ReplayEvery, 5*time.Second)
	setDefault(&c.PruneEvery, 10*time.Minute)
	setDefault(&c.InboxRetention, 30*24*time.Hour)
	setDefault(&c.DeadLetterRetention, 90*24*time.Hour)
	if c.Key == nil {
		c.Key = keyOf
	}
	if c.Decode == nil {
		c.Decode = wire.Decode
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,49}$`)

// problems collects what is wrong with settings.
type problems []string

func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &ConfigError{p}
}

// validateApply judges what an [Applier] needs.
func (c Config) validateApply(p *problems) {
	p.check(brokerName(c.Name, 64), "name %q: must be 1 to 64 bytes without white space, dots, slashes and wildcards", c.Name)
	p.check(len(c.Group) <= 64 && storable(c.Group), "group %q: must be 1 to 64 bytes of UTF-8 text", c.Group)
	p.check(schemaName.MatchString(c.Schema) && !strings.HasPrefix(c.Schema, "pg_"), "schema %q: must be a plain lower-case identifier", c.Schema)
	p.check(c.Proof == nil || len(c.Effects) == 0, "proof: is given beside effects; give one of the two")
	for factType, e := range c.Effects {
		if problem := e.problem(); problem != "" {
			p.check(false, "effect of %q: %s", factType, problem)
		}
	}
	p.check(c.HandleTimeout > 0, "handle timeout %s: must be positive", c.HandleTimeout)
}

func (c Config) validate(p *problems) {
	p.check(brokerName(c.Stream, 255), "stream %q: must be the name of a JetStream stream", c.Stream)
	p.check(c.AckWait >= time.Second, "ack wait %s: must be 1s at least", c.AckWait)
	p.check(c.MaxAckPending >= 1, "max ack pending %d: must be positive", c.MaxAckPending)
	p.check(c.Concurrency >= 1 && c.Concurrency <= 1024, "concurrency %d: must be 1 to 1024", c.Concurrency)
	p.check(c.Batch >= 1 && c.Batch <= 1000, "batch %d: must be 1 to 1000", c.Batch)
	p.check(c.Buffer >= c.Concurrency, "buffer %d: must be the concurrency %d at least", c.Buffer, c.Concurrency)
	p.check(c.Foreign == ForeignDeadLetter || c.Foreign == ForeignSkip, "foreign %q: must be dead_letter or skip", c.Foreign)
	p.check(c.Attempts >= 1, "attempts %d: must be positive", c.Attempts)
	p.check(c.RetryMin >= time.Millisecond, "retry min %s: must be 1ms at least; a message that comes back at once uses up its deliveries", c.RetryMin)
	p.check(c.RetryMax >= c.RetryMin, "retry max %s: must not be shorter than retry min %s", c.RetryMax, c.RetryMin)
	p.check(c.OutageMax >= c.RetryMin, "outage max %s: must not be shorter than retry min %s", c.OutageMax, c.RetryMin)
	for name, d := range map[string]time.Duration{"fetch wait": c.FetchWait, "control every": c.ControlEvery, "measure every": c.MeasureEvery, "replay every": c.ReplayEvery, "prune every": c.PruneEvery} {
		p.check(d >= 100*time.Millisecond, "%s %s: must be 100ms at least", name, d)
	}
	p.check(c.SettleTimeout > 0, "settle timeout %s: must be positive", c.SettleTimeout)
	p.check(c.StopTimeout > 0, "stop timeout %s: must be positive", c.StopTimeout)
	p.check(c.SilentAfter > c.FetchWait, "silent after %s: must be longer than fetch wait %s", c.SilentAfter, c.FetchWait)
	p.check(c.InboxRetention >= minRetention, "inbox retention %s: must be %s at least, because the inbox counts attempts", c.InboxRetention, minRetention)
	p.check(c.DeadLetterRetention >= minRetention, "dead letter retention %s: must be %s at least", c.DeadLetterRetention, minRetention)
}

// brokerName applies the server's rules for names.
func brokerName(name string, limit int) bool {
	return name != "" && len(name) <= limit && storable(name) && !strings.ContainsAny(name, " \t\r\n.*>/\\")
}

// storable reports whether the database takes s as a text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// keyOf is the key of an event that the relay published, or its subject.
func keyOf(e event.Event) string {
	if key, ok := e.Extensions()["partitionkey"].(string); ok && key != "" {
		return key
	}
	return e.Subject()
}
