package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/internal/rollback"
)

// ErrRunning is returned when the group is not paused: nothing was changed.
var ErrRunning = errors.New("the group is not paused")

// Beginner begins transactions: a pool or a connection.
type Beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// Run plans, rehearses or applies a repair. The report is nil only when nothing was looked at. Errors:
// [*effects.Error], [ErrRunning], [*RefusedError], [*AssertionError], [*IndexError], and those of the
// database; after each of them nothing is changed. A connection that is lost during the commit leaves
// open whether it was: run it again, which finds nothing to do if it was.
func Run(ctx context.Context, db Beginner, cfg Config) (*Report, error) {
	cfg, err := cfg.judged()
	if err != nil {
		return nil, err
	}
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted} // after the locks every statement sees the newest rows
	if cfg.Mode == Plan {
		opts = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	}
	tx, err := db.BeginTx(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	defer rollback.Now(ctx, tx) // it was committed, or nothing is to be kept
	j := &job{tx: tx, cfg: cfg, t: cfg.Table, sql: statements(cfg.Schema, cfg.Table, nil), report: &Report{
		Table: cfg.Table.Table, Group: cfg.Table.Group, Index: cfg.Table.Index, Mode: cfg.Mode, Counts: map[Shape]int64{},
	}}
	if err := j.run(ctx); err != nil {
		return j.report, err
	}
	if cfg.Mode != Apply {
		return j.report, nil
	}
	if err := j.step("commit", func() error { return tx.Commit(ctx) }); err != nil {
		return j.report, fmt.Errorf("repair: commit: %w", err)
	}
	j.report.Applied = true
	return j.report, nil
}

// job is one repair in its transaction.
type job struct {
	tx     pgx.Tx
	cfg    Config
	t      effects.Table
	report *Report
	sql    map[string]string
	names  []effects.Naming

	canonical, duplicates []string // of each row that goes: which one stays, and its id
	status                []string
}

func (j *job) step(name string, do func() error) error {
	j.cfg.Progress(name)
	began := time.Now()
	err := do()
	j.report.Steps = append(j.report.Steps, Step{name, time.Since(began)})
	return err
}

func (j *job) run(ctx context.Context) error {
	steps := []struct {
		name  string
		write bool // not of a plan
		do    func(context.Context) error
	}{
		{"settings", false, j.settings},
		{"inspect", false, j.inspect},
		{"lock", true, j.lock},
		{"switch", true, j.paused},
		{"preflight", false, j.preflight},
		{"events", true, j.removeEvents},
		{"ledger", true, j.ledger},
		{"repair", true, j.repair},
		{"facts", true, j.facts},
		{"assert", true, j.assert},
		{"index", true, j.index},
		{"catalog", true, j.proveIndex},
	}
	for _, s := range steps {
		if s.write && j.cfg.Mode == Plan {
			continue
		}
		if err := j.step(s.name, func() error { return s.do(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// settings are of this transaction only.
func (j *job) settings(ctx context.Context) error {
	_, err := j.tx.Exec(ctx, j.sql["settings"], fmt.Sprintf("%dms", j.cfg.LockTimeout.Milliseconds()))
	return wrap("settings", err)
}

func (j *job) inspect(ctx context.Context) (err error) {
	if j.names, err = effects.Inspect(ctx, j.tx, j.t); err != nil {
		return wrap("inspect", err)
	}
	j.sql = statements(j.cfg.Schema, j.t, j.names)
	return nil
}

// lock keeps every writer out, of the table and of those that name its rows, and relays off the lanes. It
// reads on. The table comes first: whoever writes both takes them in either order, and the lock timeout
// ends a circle.
func (j *job) lock(ctx context.Context) error {
	if _, err := j.tx.Exec(ctx, "LOCK TABLE "+effects.Relation(j.t.Table)+" IN SHARE ROW EXCLUSIVE MODE"); err != nil {
		return wrap("lock "+j.t.Table, err)
	}
	for _, r := range j.names {
		if _, err := j.tx.Exec(ctx, "LOCK TABLE "+effects.Relation(r.Table)+" IN SHARE MODE"); err != nil {
			return wrap("lock "+r.Table, err)
		}
	}
	if len(j.t.Events) == 0 {
		return nil
	}
	_, err := j.tx.Exec(ctx, j.sql["lanes"])
	return wrap("lock the lanes of relays", err)
}

// paused demands the switch. A rehearsal is made before the pause, too.
func (j *job) paused(ctx context.Context) error {
	if j.cfg.Mode != Apply {
		return nil
	}
	var state string
	err := j.tx.QueryRow(ctx, j.sql["switch"], j.t.Group).Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && state != "paused" {
		return fmt.Errorf("repair %s: group %s: %w", j.t.Table, j.t.Group, ErrRunning)
	}
	return wrap("read the switch", err)
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("repair: %s: %w", what, err)
}
