package holdhttp

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/hold"
)

// Config are the settings of a [Handler]. The zero value of a field means its default;
// Authenticators, and Callers or OperatorRole, are needed.
type Config struct {
	// Schema is the database schema. Defaults to "outbox".
	Schema string

	// Authenticators say who calls. They are asked in their order, and the first that finds
	// credentials of its kind decides. At least one is needed.
	Authenticators []Authenticator
	// ServiceRole is the role that every calling service must have. Defaults to "service".
	ServiceRole string
	// Callers are the exact names of the services that may call. Defaults to none.
	Callers []string
	// OperatorRole is the role whose holders may call without a place among Callers, and
	// decide about the generations of everybody. Defaults to none: then nobody is an operator.
	OperatorRole string

	// Compensator undoes the entities of a generation that is cancelled here, within the call.
	// Defaults to none: then a cancel drops the events, and a keeper or the service undoes.
	Compensator hold.Compensator

	// Timeout is how long a call may take, its body and its wait for open writers included.
	// Defaults to 15 seconds. Clients wait for 20.
	Timeout time.Duration
	// MaxBody is the size of the largest body, in bytes. Defaults to 16384.
	MaxBody int64
	// Rate is how many calls a second a caller may make in the long run, Burst how many at
	// once. Default to 50 and 100.
	Rate  float64
	Burst int
	// Concurrent is how many calls use the database at once; more wait for their turn. Keep
	// it below the size of the pool. Defaults to 4.
	Concurrent int

	// Logger is where changes, refusals and faults are told. Defaults to slog.Default.
	Logger *slog.Logger
}

// ConfigError is returned for settings that cannot work, or that would let anybody in.
type ConfigError struct{ Problems []string }

func (e *ConfigError) Error() string {
	return "configure control surface: " + strings.Join(e.Problems, "; ")
}

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
	check(len(c.Authenticators) > 0, "no authenticator: there is no anonymous mode")
	for i, a := range c.Authenticators {
		check(a != nil, "authenticator %d is nil", i)
	}
	check(len(c.Callers) > 0 || c.OperatorRole != "", "neither callers nor an operator role: nobody may call")
	for _, name := range c.Callers {
		check(validName(name), "caller %q: a name is 1 to 255 bytes of UTF-8 without control characters", name)
	}
	check(c.OperatorRole != c.ServiceRole, "operator role %q: is that of services", c.OperatorRole)
	check(c.Timeout > 0, "timeout %s: must be positive", c.Timeout)
	check(c.MaxBody > 0, "largest body %d: must be positive", c.MaxBody)
	check(c.Rate > 0, "rate %g: must be positive", c.Rate)
	check(c.Burst > 0, "burst %d: must be positive", c.Burst)
	check(c.Concurrent > 0, "concurrent %d: must be positive", c.Concurrent)
	if problems != nil {
		return &ConfigError{problems}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.ServiceRole == "" {
		c.ServiceRole = "service"
	}
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Second
	}
	if c.MaxBody == 0 {
		c.MaxBody = 16 << 10
	}
	if c.Rate == 0 {
		c.Rate = 50
	}
	if c.Burst == 0 {
		c.Burst = 100
	}
	if c.Concurrent == 0 {
		c.Concurrent = 4
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}
