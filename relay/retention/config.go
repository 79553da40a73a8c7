package retention

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"time"
)

// Config are the settings of a [Keeper]. The zero value of a field means its default.
type Config struct {
	// Schema is the database schema. Defaults to "outbox".
	Schema string
	// Owner names this pod in the lease. Defaults to the name of the host and the process id.
	Owner string
	// Keep is how long events stay at least. Defaults to all periods of the schema but two,
	// which is also the longest that a rotation can keep up with.
	Keep time.Duration
	// Records is how long the history of dead letters and the audit of holds stay, 30 days at
	// least. Defaults to 400 days. Batches stay for as long as an event can.
	Records time.Duration
	// Every is the pause between two passes of Run. Defaults to 1 minute.
	Every time.Duration
	// Logger is where rotations and refusals are told. Defaults to slog.Default.
	Logger *slog.Logger
}

// The bounds of a configuration.
const (
	MinRecords = 30 * 24 * time.Hour
	minEvery   = time.Second
	// lease is how long a keeper that was killed keeps the others from their work. It is renewed
	// before each step, which takes far less.
	lease = 30 * time.Second
	// pruneEvery is how often a keeper looks for old records.
	pruneEvery = time.Hour
)

// DefaultRecords is how long records stay.
const DefaultRecords = 400 * 24 * time.Hour

// identifier is what may stand unquoted in SQL.
var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,49}$`)

func (c Config) withDefaults() Config {
	if c.Schema == "" {
		c.Schema = "outbox"
	}
	if c.Owner == "" {
		host, _ := os.Hostname() // a name for people: the process id alone will do
		c.Owner = fmt.Sprintf("%.100s/%d", host, os.Getpid())
	}
	if c.Records == 0 {
		c.Records = DefaultRecords
	}
	if c.Every == 0 {
		c.Every = time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// ConfigError is returned by [New] for settings that cannot work.
type ConfigError struct{ Problems []string }

func (e *ConfigError) Error() string { return "configure retention: " + strings.Join(e.Problems, "; ") }

// Validate reports every setting that cannot work as a [*ConfigError].
func (c Config) Validate() error {
	c = c.withDefaults()
	var problems []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	check(identifier.MatchString(c.Schema), "schema %q: must be a plain lower-case identifier", c.Schema)
	check(len(c.Owner) <= 128, "owner: must be 128 bytes at most")
	check(c.Keep >= 0, "retention %s: must not be negative", c.Keep)
	check(c.Records >= MinRecords, "record retention %s: must be %s at least", c.Records, MinRecords)
	check(c.Every >= minEvery, "retention every %s: must be %s at least", c.Every, minEvery)
	if problems != nil {
		return &ConfigError{problems}
	}
	return nil
}
