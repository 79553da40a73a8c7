package repair

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/internal/statement"
)

// Mode says how far a repair goes.
type Mode string

// The modes.
const (
	// Plan reads one snapshot and locks nothing. The default.
	Plan Mode = "plan"
	// Rehearse does everything, measures it, and rolls back. It holds the locks meanwhile.
	Rehearse Mode = "rehearse"
	// Apply does everything and commits.
	Apply Mode = "apply"
)

// Config says what is repaired. The zero value of a field means its default.
type Config struct {
	// Schema is the database schema of the component consumer, and of the outbox. Defaults to "outbox".
	Schema string
	// Table describes the effects. Required.
	Table effects.Table
	// Mode defaults to Plan.
	Mode Mode
	// Actor and Reason are kept in the ledger; 64 and 800 bytes. Required for Apply.
	Actor, Reason string
	// LockTimeout is how long each lock may be waited for. Defaults to 10 seconds.
	LockTimeout time.Duration
	// Examples is how many groups of each shape are named. Defaults to 20.
	Examples int
	// Progress is told each step as it begins. Defaults to nobody.
	Progress func(step string)
}

func (c Config) judged() (Config, error) {
	if c.Schema == "" {
		c.Schema = "outbox"
	}
	if c.Mode == "" {
		c.Mode = Plan
	}
	if c.LockTimeout == 0 {
		c.LockTimeout = 10 * time.Second
	}
	if c.Examples == 0 {
		c.Examples = 20
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	c.Table = c.Table.WithDefaults()
	if err := c.Table.Validate(); err != nil {
		return c, fmt.Errorf("repair: %w", err)
	}
	var problem string
	switch {
	case len(c.Table.Compared()) == 0:
		problem = "attributes or identical: needs the columns in which duplicates must be equal, or all rows of a key would be"
	case c.Table.Marker == "" && len(c.Table.Untouched) == 0:
		problem = "untouched: needs the columns that say that a row is as it was made, or every row would be; what is removed cannot be looked at again"
	case !statement.ValidSchema(c.Schema):
		problem = fmt.Sprintf("schema %q is not a plain lower-case identifier", c.Schema)
	case c.Mode != Plan && c.Mode != Rehearse && c.Mode != Apply:
		problem = fmt.Sprintf("mode %q: must be plan, rehearse or apply", c.Mode)
	case c.Mode == Apply && (c.Actor == "" || len(c.Actor) > 64 || strings.ContainsAny(c.Actor, "()")):
		problem = "actor: must be 1 to 64 bytes, without brackets"
	case c.Mode == Apply && (c.Reason == "" || len(c.Reason) > 800):
		problem = "reason: must be 1 to 800 bytes"
	case c.LockTimeout < time.Millisecond:
		problem = "lock timeout: must be 1ms at least"
	default:
		return c, nil
	}
	return c, fmt.Errorf("repair: %w", &effects.Error{Problems: []string{problem}})
}

// told is the reason in the ledger, with the actor in the last brackets.
func (c Config) told() string {
	if c.Mode != Apply {
		return "rehearsal"
	}
	return c.Reason + " (" + c.Actor + ")"
}
