package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/internal/rollback"
	"github.com/holdfast-dev/holdfast/consumers/internal/statement"
)

// Config says what is compared. The zero value of a field means its default.
type Config struct {
	// Schema is the database schema of the component consumer. Defaults to "outbox".
	Schema string
	// Table describes the effects. Required.
	Table effects.Table
	// Since and Until bound what the truth does not know and is foreign. Default to no bound.
	Since, Until time.Time
	// Examples is how many of each class are named. Defaults to 20; below 0 none.
	Examples int
	// Progress is told how many records and rows were read, now and then. Defaults to nobody.
	Progress func(records, rows int64)
}

func (c Config) judged() (Config, error) {
	if c.Schema == "" {
		c.Schema = "outbox"
	}
	if c.Examples == 0 {
		c.Examples = 20
	}
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	c.Table = c.Table.WithDefaults()
	switch {
	case !statement.ValidSchema(c.Schema):
		return c, fmt.Errorf("reconcile: schema %q is not a plain lower-case identifier", c.Schema)
	case !c.Since.IsZero() && !c.Until.IsZero() && !c.Since.Before(c.Until):
		return c, fmt.Errorf("reconcile: since must be before until")
	}
	return c, c.Table.Validate()
}

// Beginner begins transactions: a pool or a connection.
type Beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// Run reads the truth and then the database, and compares. It changes nothing. Errors: [*effects.Error],
// [*TruthError], and those of the truth and of the database; there is no report then.
func Run(ctx context.Context, db Beginner, truth Truth, cfg Config) (*Report, error) {
	cfg, err := cfg.judged()
	if err != nil {
		return nil, err
	}
	c := &comparison{cfg: cfg, t: cfg.Table, names: attributeNames(cfg.Table), keys: map[place]*entry{}, resolved: map[int64]bool{},
		report: &Report{Table: cfg.Table.Table, Truth: truth.Name(), Counts: map[Class]int64{}}}
	if err := truth.Records(ctx, c.tell); err != nil {
		return nil, fmt.Errorf("reconcile %s: %w", cfg.Table.Table, err)
	}
	if s, is := truth.(*stream); is {
		c.report.Messages, c.report.Unreadable = s.read.messages, s.read.unreadable
	}
	// The snapshot is taken by the first statement: after the truth, so that what came in meanwhile is in it.
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("reconcile %s: %w", cfg.Table.Table, err)
	}
	defer rollback.Now(ctx, tx) // it only read
	if err := c.database(ctx, tx); err != nil {
		return nil, fmt.Errorf("reconcile %s: %w", cfg.Table.Table, err)
	}
	c.judge()
	return c.report, nil
}
