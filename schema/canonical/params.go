package canonical

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Params are the choices that a service has. They are few, because each one makes
// databases differ. The zero value of a field means its default.
type Params struct {
	// Schema is the database schema that holds the objects: a plain lower-case
	// identifier of at most 50 bytes. Defaults to "outbox".
	Schema string
	// Lanes is how many lanes the log has, 1 to 256. It bounds how many relay
	// pods can share the work. Fixed for the life of the table. Defaults to 16.
	Lanes int
	// Slots is how many retention slots the log rotates through, 3 to 32. Defaults to 4.
	Slots int
	// Period is how long one slot is written to, 1 minute to 31 days, whole
	// seconds. Published events are kept between Slots-2 and Slots-1 periods.
	// Defaults to 24 hours.
	Period time.Duration
	// MaxEventBytes bounds the payload of an event, 1 KiB to 64 MB. The default of
	// 1,000,000 leaves room for the headers in the 1 MiB that a NATS server allows.
	MaxEventBytes int
}

// DefaultParams returns the defaults, written out.
func DefaultParams() Params { return Params{}.WithDefaults() }

// WithDefaults returns p with every zero field replaced by its default.
func (p Params) WithDefaults() Params {
	if p.Schema == "" {
		p.Schema = "outbox"
	}
	if p.Lanes == 0 {
		p.Lanes = 16
	}
	if p.Slots == 0 {
		p.Slots = 4
	}
	if p.Period == 0 {
		p.Period = 24 * time.Hour
	}
	if p.MaxEventBytes == 0 {
		p.MaxEventBytes = 1_000_000
	}
	return p
}

// Keep returns how long published events stay at least, and the longest retention that a
// rotation can keep up with: all periods but two.
func (p Params) Keep() time.Duration {
	p = p.WithDefaults()
	return time.Duration(p.Slots-2) * p.Period
}

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,49}$`)

// Validate reports every parameter that is out of bounds. It judges the values after
// [Params.WithDefaults].
func (p Params) Validate() error {
	p = p.WithDefaults()
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !ValidIdentifier(p.Schema) {
		bad("schema %q: must match [a-z_][a-z0-9_]*, 50 bytes at most, and not begin with pg_", p.Schema)
	}
	if p.Lanes < 1 || p.Lanes > 256 {
		bad("lanes %d: must be 1 to 256", p.Lanes)
	}
	if p.Slots < 3 || p.Slots > 32 {
		bad("retention slots %d: must be 3 to 32", p.Slots)
	}
	if p.Period < time.Minute || p.Period > 31*24*time.Hour || p.Period%time.Second != 0 {
		bad("retention period %s: must be whole seconds, 1m to 744h", p.Period)
	}
	if p.MaxEventBytes < 1024 || p.MaxEventBytes > 64_000_000 {
		bad("max event bytes %d: must be 1024 to 64000000", p.MaxEventBytes)
	}
	return errors.Join(errs...)
}

// ValidIdentifier reports whether name is safe to stand unquoted in SQL as the name of
// a database schema.
func ValidIdentifier(name string) bool {
	return identifier.MatchString(name) && (len(name) < 3 || name[:3] != "pg_")
}

// recorded is how the parameters are kept in holdfast_schema.
type recorded struct {
	Schema        string `json:"schema"`
	Lanes         int    `json:"lanes"`
	Slots         int    `json:"slots"`
	PeriodSeconds int    `json:"period_seconds"`
	MaxEventBytes int    `json:"max_event_bytes"`
}

// JSON returns the parameters as they are recorded in holdfast_schema.
func (p Params) JSON() string {
	p = p.WithDefaults()
	out, _ := json.Marshal(recorded{p.Schema, p.Lanes, p.Slots, int(p.Period / time.Second), p.MaxEventBytes}) // no field can fail to marshal
	return string(out)
}

// ParseParams reads what [Params.JSON] wrote.
func ParseParams(text string) (Params, error) {
	var r recorded
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Params{}, fmt.Errorf("parse the recorded parameters: %w", err)
	}
	return Params{
		Schema: r.Schema, Lanes: r.Lanes, Slots: r.Slots,
		Period: time.Duration(r.PeriodSeconds) * time.Second, MaxEventBytes: r.MaxEventBytes,
	}, nil
}
