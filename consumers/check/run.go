package check

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/internal/rollback"
	"github.com/holdfast-dev/holdfast/consumers/internal/statement"
)

// Config says what is checked. The zero value of a field means its default.
type Config struct {
	// Schema is the database schema of the component consumer. Defaults to "outbox".
	Schema string
	// Tables are the tables of effects. Without any, only what needs none is checked.
	Tables []effects.Table
	// Names are the invariants to check. Defaults to all.
	Names []string
	// Grace replaces the grace of invariants, by name.
	Grace map[string]time.Duration
	// Examples is how many examples each finding has. Defaults to 20; below 0 none.
	Examples int
	// Timeout bounds each query. Defaults to 1 minute.
	Timeout time.Duration
}

// Verdict is what became of one invariant.
type Verdict string

// The verdicts.
const (
	Held    Verdict = "held"
	Broken  Verdict = "broken"
	Unknown Verdict = "unknown"
)

// Finding is what one invariant found, in one table if it is about effects.
type Finding struct {
	Invariant
	Table    string // "" for one that is about no table
	Verdict  Verdict
	Count    int64
	Examples []Example
	Err      error // why it is unknown
	Took     time.Duration
}

// Example is something that breaks an invariant. Ids and names only.
type Example struct {
	ID, What string
	Since    *time.Time
}

// Report is what all of them found, in the order of the catalog.
type Report struct{ Findings []Finding }

// Sound reports whether anything was checked, and everything that was held.
func (r *Report) Sound() bool {
	return len(r.Findings) > 0 && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Verdict != Held })
}

// UnknownNameError is returned for an invariant that is not in the catalog.
type UnknownNameError struct{ Name string }

func (e *UnknownNameError) Error() string { return fmt.Sprintf("there is no invariant %q", e.Name) }

// InapplicableError is returned for an invariant that was asked for by its name and is about a table of effects,
// when none that is described has what it is about.
type InapplicableError struct{ Name string }

func (e *InapplicableError) Error() string {
	return fmt.Sprintf("invariant %s: no table of effects is described that it is about", e.Name)
}

// Hint says what a person can do.
func (e *InapplicableError) Hint() string {
	return "describe the table, see docs/effects.md; what is about superseded duplicates needs a marker"
}

// Beginner begins transactions: a pool or a connection.
type Beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// Run checks the catalog in one snapshot, and changes nothing. An invariant that could not be checked is a
// finding; an error is returned when nothing could be. Errors: [*effects.Error], [*UnknownNameError],
// [*InapplicableError], and those of the database.
func Run(ctx context.Context, db Beginner, cfg Config) (*Report, error) {
	cfg, err := cfg.judged()
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	defer rollback.Now(ctx, tx) // it only read
	if _, err := tx.Exec(ctx, `SELECT set_config('datestyle', 'ISO', true), set_config('timezone', 'UTC', true), set_config('row_security', 'off', true),
		set_config('statement_timeout', $1, true)`, fmt.Sprint(cfg.Timeout.Milliseconds())); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	for _, t := range cfg.Tables {
		if _, err := effects.Inspect(ctx, tx, t); err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
	}
	r := &Report{}
	for _, inv := range Catalog() {
		if len(cfg.Names) > 0 && !slices.Contains(cfg.Names, inv.Name) {
			continue
		}
		if grace, given := cfg.Grace[inv.Name]; given {
			inv.Grace = grace
		}
		for _, t := range inv.tables(cfg) {
			r.Findings = append(r.Findings, look(ctx, tx, inv, t, cfg))
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("check: %w", err)
			}
		}
	}
	return r, nil
}

// judged fills in defaults and refuses what cannot be checked.
func (c Config) judged() (Config, error) {
	if c.Schema == "" {
		c.Schema = "outbox"
	}
	if !statement.ValidSchema(c.Schema) {
		return c, fmt.Errorf("check: schema %q is not a plain lower-case identifier", c.Schema)
	}
	if c.Examples == 0 {
		c.Examples = 20
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	names := slices.Clone(c.Names)
	for name := range c.Grace {
		names = append(names, name)
	}
	for _, name := range names {
		if !slices.ContainsFunc(Catalog(), func(i Invariant) bool { return i.Name == name }) {
			return c, &UnknownNameError{name}
		}
	}
	tables := make([]effects.Table, len(c.Tables))
	for i, t := range c.Tables {
		tables[i] = t.WithDefaults()
	}
	c.Tables = tables
	for _, inv := range Catalog() {
		if slices.Contains(c.Names, inv.Name) && len(inv.tables(c)) == 0 {
			return c, &InapplicableError{inv.Name}
		}
	}
	return c, nil
}

// tables are those that an invariant is looked for in; one without a name for what is about none.
func (i Invariant) tables(c Config) (applies []effects.Table) {
	if !i.described {
		return []effects.Table{{}}
	}
	for _, t := range c.Tables {
		if i.needs == nil || i.needs(t) {
			applies = append(applies, t)
		}
	}
	return applies
}

// look makes one query, in a savepoint, so that one that fails does not end the others.
func look(ctx context.Context, tx pgx.Tx, inv Invariant, t effects.Table, cfg Config) Finding {
	f := Finding{Invariant: inv, Table: t.Table, Verdict: Held}
	began := time.Now()
	f.Err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, inv.statement(cfg.Schema, t), inv.Grace, max(cfg.Examples, 1))
		if err != nil {
			return err
		}
		var e Example
		_, err = pgx.ForEachRow(rows, []any{&e.ID, &e.What, &e.Since, &f.Count}, func() error {
			f.Examples = append(f.Examples, e)
			return nil
		})
		return err
	})
	f.Took = time.Since(began)
	switch {
	case f.Err != nil:
		f.Verdict, f.Examples, f.Count = Unknown, nil, 0
	case f.Count > 0:
		f.Verdict = Broken
	}
	if cfg.Examples < 0 {
		f.Examples = nil
	}
	return f
}
