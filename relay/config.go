package relay

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// Config are the settings of a relay. The zero value of a field means its default.
// Durations are measured by the process clock unless said otherwise.
type Config struct {
	// Stream is the JetStream stream that must store the events. Required.
	Stream string
	// SubjectPrefix and SubjectTemplate make the subject of an event, see
	// [wire.Config]. Default to "events" and "{prefix}.{type}".
	SubjectPrefix   string
	SubjectTemplate string
	// Mode puts the attributes into headers (binary) or the whole event into one JSON
	// document (structured). Defaults to wire.Binary.
	Mode wire.Mode
	// Publisher is how events are put into the stream. Defaults to PublisherAuto.
	Publisher PublisherKind

	// Schema is the database schema of the outbox. Defaults to "outbox".
	Schema string
	// Group names the set of cursors that this relay moves. A second group drains
	// the same log to another broker. Defaults to "default".
	Group string
	// Owner names this pod in leases and logs; unique among live pods, 1 to 128
	// bytes. Defaults to host name, process id and a random part.
	Owner string
	// Version is what this pod says of itself. Defaults to "devel".
	Version string

	// BatchSize is how many events of one lane are published before they are
	// settled, 1 to 10,000. Defaults to 1,000.
	BatchSize int
	// BatchBytes bounds the payload of all batches in memory together, in bytes.
	// One event may exceed its lane's share. Defaults to 32 MiB.
	BatchBytes int
	// Workers is how many lanes read or publish at the same time. Defaults to 8.
	Workers int

	// Lease is how long a lane stays with a pod that does not renew, by the clock of
	// the database, 1 s to 10 min. Defaults to 10 s. It is renewed every third of it.
	Lease time.Duration
	// PollMin and PollMax bound the pause between two looks for new events.
	// Default to 2 ms and 50 ms.
	PollMin, PollMax time.Duration
	// WakeSubject is a subject of core NATS on which producers say that there is something to
	// drain, see [outbox.Wake]. Nothing depends on it. Defaults to none.
	WakeSubject string
	// WakeGap is the least time between a look and one that a wake-up causes, so that many
	// wake-ups cost few statements. Defaults to 1 ms.
	WakeGap time.Duration
	// ListenChannel is a channel of the database on which producers say so by NOTIFY, see
	// [outbox.Config]. It takes one more connection, which must not go through a pooler in
	// transaction mode: the relay finds out and says so. Defaults to none.
	ListenChannel string
	// AckTimeout is how long a batch may go without any acknowledgement before
	// what is in flight counts as unknown. Defaults to 5 s.
	AckTimeout time.Duration
	// RetryMin and RetryMax bound the pause before a batch is published again and
	// before a failed statement is repeated. Default to 50 ms and 5 s.
	RetryMin, RetryMax time.Duration
	// Retry says how often and when a refused event is tried again. An outage is not a
	// refusal and counts nothing. Defaults to retry.DefaultPolicy.
	Retry retry.Policy
	// DeadLetterBlocksKey keeps the later events of a key waiting while the key has a dead
	// letter. By default the key goes on.
	DeadLetterBlocksKey bool
	// StopTimeout is how long a stopping relay waits for batches in flight.
	// Defaults to 10 s.
	StopTimeout time.Duration
	// UnreadyAfter is how long the broker or the database may be unavailable before
	// the relay says that it is not ready. Defaults to 15 s.
	UnreadyAfter time.Duration

	// Admit is asked before the first publication, and again until it returns nil: while it
	// returns an error nothing is published and nothing is counted, as when the broker is away. It
	// must be safe for concurrent use and should answer at once. Defaults to none.
	Admit func(context.Context) error `json:"-"`

	// MeasureEvery is the pause between two measurements of the database for metrics; each pod
	// measures, and pauses longer when measuring takes long. Defaults to 15 s.
	MeasureEvery time.Duration

	// MeterProvider and TracerProvider take metrics and traces. Default to the global ones of
	// OpenTelemetry, which do nothing until the process sets others.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider

	// Logger takes what the relay has to say. Defaults to slog.Default().
	Logger *slog.Logger
}

// withDefaults returns c with zero fields replaced.
func (c Config) withDefaults() Config {
	setDefault(&c.SubjectPrefix, wire.DefaultPrefix)
	setDefault(&c.SubjectTemplate, wire.DefaultSubject)
	setDefault(&c.Publisher, PublisherAuto)
	setDefault(&c.Schema, "outbox")
	setDefault(&c.Group, "default")
	setDefault(&c.Version, "devel")
	setDefault(&c.BatchSize, 1000)
	setDefault(&c.BatchBytes, 32<<20)
	setDefault(&c.Workers, 8)
	setDefault(&c.Lease, 10*time.Second)
	setDefault(&c.PollMin, 2*time.Millisecond)
	setDefault(&c.PollMax, 50*time.Millisecond)
	setDefault(&c.WakeGap, time.Millisecond)
	setDefault(&c.AckTimeout, 5*time.Second)
	setDefault(&c.RetryMin, 50*time.Millisecond)
	setDefault(&c.RetryMax, 5*time.Second)
	setDefault(&c.Retry, retry.DefaultPolicy())
	setDefault(&c.StopTimeout, 10*time.Second)
	setDefault(&c.UnreadyAfter, 15*time.Second)
	setDefault(&c.MeasureEvery, 15*time.Second)
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.Owner == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown-host"
		}
		c.Owner = fmt.Sprintf("%.80s-%d-%s", host, os.Getpid(), randomText(6))
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

// ConfigError is what [New] returns for settings that cannot work. It names every one.
type ConfigError struct{ Problems []string }

func (e *ConfigError) Error() string {
	return "relay configuration: " + strings.Join(e.Problems, "; ")
}

func (c Config) validate() error {
	var e ConfigError
	check := func(ok bool, format string, args ...any) {
		if !ok {
			e.Problems = append(e.Problems, fmt.Sprintf(format, args...))
		}
	}
	check(c.Stream != "" && !strings.ContainsAny(c.Stream, " \t\r\n.*>/\\"), "stream %q: must be the name of a JetStream stream", c.Stream)
	check(new(PublisherKind).UnmarshalText([]byte(c.Publisher)) == nil, "publisher %q: must be auto, async or fast", c.Publisher)
	check(schemaName.MatchString(c.Schema) && !strings.HasPrefix(c.Schema, "pg_"), "schema %q: must be a plain lower-case identifier", c.Schema)
	check(len(c.Group) >= 1 && len(c.Group) <= 64 && storable(c.Group), "group %q: must be 1 to 64 bytes of UTF-8 text", c.Group)
	check(len(c.Owner) >= 1 && len(c.Owner) <= 128 && storable(c.Owner), "owner %q: must be 1 to 128 bytes of UTF-8 text", c.Owner)
	check(len(c.Version) <= 64 && storable(c.Version), "version %q: must be 64 bytes of UTF-8 text at most", c.Version)
	check(c.BatchSize >= 1 && c.BatchSize <= 10_000, "batch size %d: must be 1 to 10000", c.BatchSize)
	check(c.BatchBytes >= 1<<20, "batch bytes %d: must be 1 MiB at least", c.BatchBytes)
	check(c.Workers >= 1 && c.Workers <= 256, "workers %d: must be 1 to 256", c.Workers)
	check(c.Lease >= time.Second && c.Lease <= 10*time.Minute, "lease %s: must be 1s to 10m", c.Lease)
	check(c.PollMin >= time.Millisecond && c.PollMin <= c.PollMax, "poll min %s: must be 1ms to poll max (%s)", c.PollMin, c.PollMax)
	check(c.PollMax <= time.Minute, "poll max %s: must be 1m at most", c.PollMax)
	check(c.WakeGap >= 0 && c.WakeGap <= time.Minute, "wake gap %s: must be 0 to 1m", c.WakeGap)
	check(c.WakeSubject == "" || plainSubject(c.WakeSubject), "wake subject %q: must be a subject of NATS without wildcards", c.WakeSubject)
	check(c.ListenChannel == "" || schemaName.MatchString(c.ListenChannel), "listen channel %q: must be a plain lower-case identifier", c.ListenChannel)
	check(c.AckTimeout >= 100*time.Millisecond, "ack timeout %s: must be 100ms at least", c.AckTimeout)
	check(c.RetryMin >= time.Millisecond && c.RetryMin <= c.RetryMax, "retry min %s: must be 1ms to retry max (%s)", c.RetryMin, c.RetryMax)
	check(c.StopTimeout > 0, "stop timeout %s: must be positive", c.StopTimeout)
	check(c.MeasureEvery >= 100*time.Millisecond, "measure every %s: must be 100ms at least", c.MeasureEvery)
	check(c.UnreadyAfter > 0, "unready after %s: must be positive", c.UnreadyAfter)
	if len(e.Problems) > 0 {
		return &e
	}
	return nil
}

// schemaName is what may stand unquoted in a statement.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,49}$`)

// plainSubject reports whether s is a subject that one can publish to.
func plainSubject(s string) bool {
	return len(s) <= 255 && storable(s) && !strings.ContainsAny(s, " \t\r\n*>") && !slices.Contains(strings.Split(s, "."), "")
}

// storable reports whether the database takes s as a text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// encoder builds the wire encoder that the settings describe.
func (c Config) encoder() (*wire.Encoder, error) {
	enc, err := wire.NewEncoder(wire.Config{Prefix: c.SubjectPrefix, Subject: c.SubjectTemplate, Stream: c.Stream, Mode: c.Mode})
	if err != nil {
		return nil, &ConfigError{Problems: []string{err.Error()}}
	}
	return enc, nil
}
