package keeper

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/hold"
)

// Config are the settings of a [Keeper]. The zero value of a field means its default.
type Config struct {
	// Schema is the database schema. Defaults to "outbox".
	Schema string
	// Name is who decides, in the audit: 1 to 255 bytes. Defaults to "keeper".
	Name string
	// Every is the pause between two passes of Run. Defaults to 1 minute, 100 milliseconds at least.
	Every time.Duration

	// Resolver asks the coordinator about overdue generations. Defaults to none: then their
	// policy decides.
	Resolver hold.Resolver
	// ResolveTimeout is how long one question may take. Defaults to 30 seconds.
	ResolveTimeout time.Duration
	// Turn is how long a generation stays with a keeper that was killed. It must be longer
	// than ResolveTimeout. Defaults to 2 minutes.
	Turn time.Duration
	// Pause is how long a generation waits after a turn that decided nothing. It doubles with
	// each one, up to MaxPause. Default to 1 minute and 1 hour.
	Pause, MaxPause time.Duration
	// Compensator undoes the entities of cancelled generations, also of those that were
	// cancelled elsewhere. Defaults to none: then whoever cancels has to compensate.
	Compensator hold.Compensator
	// Retention is how long ended generations stay.
	Retention hold.Retention
	// Most is how many generations one pass looks after. Defaults to 1000.
	Most int

	// MeterProvider gets the metrics. Defaults to the global one.
	MeterProvider metric.MeterProvider
	// Logger is where decisions and faults are told. Defaults to slog.Default.
	Logger *slog.Logger
}

const minEvery = 100 * time.Millisecond

// ConfigError is returned by [New] for settings that cannot work.
type ConfigError struct{ Problems []string }

func (e *ConfigError) Error() string { return "configure keeper: " + strings.Join(e.Problems, "; ") }

// Validate reports every setting that cannot work as a [*ConfigError].
func (c Config) Validate() error {
	c = c.withDefaults()
	var problems []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	if _, err := hold.New(hold.Config{Schema: c.Schema}); err != nil {
		problems = append(problems, err.Error())
	}
	if err := c.Retention.Validate(); err != nil {
		problems = append(problems, err.Error())
	}
	check(len(c.Name) <= 255, "name: must be 255 bytes at most")
	check(c.Every >= minEvery, "every %s: must be %s at least", c.Every, minEvery)
	check(c.ResolveTimeout > 0, "resolve timeout %s: must be positive", c.ResolveTimeout)
	check(c.Turn > c.ResolveTimeout, "turn %s: must be longer than the resolve timeout %s", c.Turn, c.ResolveTimeout)
	check(c.Pause > 0, "pause %s: must be positive", c.Pause)
	check(c.MaxPause >= c.Pause, "longest pause %s: must not be shorter than the pause %s", c.MaxPause, c.Pause)
	check(c.Most > 0, "most %d: must be positive", c.Most)
	if problems != nil {
		return &ConfigError{problems}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "keeper"
	}
	setDuration(&c.Every, time.Minute)
	setDuration(&c.ResolveTimeout, 30*time.Second)
	setDuration(&c.Turn, 2*time.Minute)
	setDuration(&c.Pause, time.Minute)
	setDuration(&c.MaxPause, max(c.Pause, time.Hour))
	if c.Most == 0 {
		c.Most = 1000
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDuration(d *time.Duration, standard time.Duration) {
	if *d == 0 {
		*d = standard
	}
}
