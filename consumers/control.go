package consumers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Control turns the switch of groups of consumers. A paused group commits nothing: neither its
// consumers nor whatever else applies events under its name. Safe for concurrent use.
type Control struct {
	db  Querier
	sql statements
}

// NewControl makes a control of the database schema of the component consumer, "outbox" when it
// is empty. Errors: [*ConfigError].
func NewControl(db Querier, schema string) (*Control, error) {
	setDefault(&schema, "outbox")
	var p problems
	p.check(schemaName.MatchString(schema), "schema %q: must be a plain lower-case identifier", schema)
	if err := p.err(); err != nil {
		return nil, err
	}
	return &Control{db: db, sql: newStatements(schema)}, nil
}

// ControlState is how the switch of a group stands. A group that nobody has paused runs.
type ControlState struct {
	Paused bool
	By     string
	Reason string
	Since  time.Time // zero when nobody has turned it
}

// Pause pauses a group and reports whether it ran before. Transactions whose last statement came
// before this are committed still: wait until pg_stat_activity shows none that is older. by and
// reason are demanded, 255 and 1,000 bytes at most.
func (c *Control) Pause(ctx context.Context, group, by, reason string) (changed bool, err error) {
	return c.set(ctx, group, "paused", by, reason)
}

// Resume lets a group run and reports whether it was paused.
func (c *Control) Resume(ctx context.Context, group, by, reason string) (changed bool, err error) {
	return c.set(ctx, group, "running", by, reason)
}

// State returns how the switch of a group stands.
func (c *Control) State(ctx context.Context, group string) (ControlState, error) {
	var s ControlState
	var state string
	err := c.db.QueryRow(ctx, c.sql.controlGet, group).Scan(&state, &s.By, &s.Reason, &s.Since)
	if errors.Is(err, pgx.ErrNoRows) {
		return ControlState{}, nil
	}
	if err != nil {
		return ControlState{}, fmt.Errorf("read the switch of %s: %w", group, err)
	}
	s.Paused = state == "paused"
	return s, nil
}

func (c *Control) set(ctx context.Context, group, state, by, reason string) (changed bool, err error) {
	var p problems
	p.check(group != "" && len(group) <= 64 && storable(group), "group %q: must be 1 to 64 bytes of UTF-8 text", group)
	p.check(by != "" && len(by) <= 255 && storable(by), "by: must be 1 to 255 bytes of UTF-8 text")
	p.check(reason != "" && len(reason) <= 1000 && storable(reason), "reason: must be 1 to 1000 bytes of UTF-8 text")
	if err := p.err(); err != nil {
		return false, err
	}
	if err := c.db.QueryRow(ctx, c.sql.controlSet, group, state, by, reason).Scan(&changed); err != nil {
		return false, fmt.Errorf("turn the switch of %s: %w", group, err)
	}
	return changed, nil
}
