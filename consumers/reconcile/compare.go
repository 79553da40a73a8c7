package reconcile

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/internal/statement"
)

//go:embed sql/*.sql
var files embed.FS

// place is what identifies a fact of the description.
type place struct{ account, key string }

// entry is what is known of one key.
type entry struct {
	told     bool
	ref      string
	texts    []string // the attributes as the truth has them; two when it tells two
	factID   int64
	factText string
	effects  []string // ids, as far as they are named
	count    int64
	linked   bool // the one effect names the one fact
	effect   string
	inWindow bool
}

type comparison struct {
	cfg      Config
	t        effects.Table
	names    []string
	keys     map[place]*entry
	resolved map[int64]bool // facts of which somebody decided every quarantine
	report   *Report
}

func (c *comparison) at(account, key string) *entry {
	p := place{account, key}
	e := c.keys[p]
	if e == nil {
		e = &entry{}
		c.keys[p] = e
	}
	return e
}

const (
	progressEvery = 10_000
	namedEffects  = 10 // of one key
)

func (c *comparison) tell(r Record) error {
	key, err := keyOf(c.t, r)
	if err != nil {
		return err
	}
	c.report.Records++
	if c.report.Records%progressEvery == 0 {
		c.cfg.Progress(c.report.Records, 0)
	}
	e := c.at(r.Account, key)
	text := told(c.names, func(name string) (string, bool) { v, has := r.Attributes[name]; return v, has })
	if !e.told {
		e.told, e.ref = true, r.Ref
	}
	if !slices.Contains(e.texts, text) {
		e.texts = append(e.texts, text)
	}
	return nil
}

func (c *comparison) database(ctx context.Context, tx pgx.Tx) error {
	texts := statement.Read(files, c.cfg.Schema)
	of := func(name string) string {
		return c.t.Fill(texts[name], c.cfg.Schema,
			"{{fact_values}}", c.values(func(name string) string { return "f.attributes ->> " + effects.Literal(name) }),
			"{{effect_values}}", c.values(func(name string) string { return "e." + effects.Quote(c.t.Attributes[name]) + "::text" }))
	}
	if _, err := tx.Exec(ctx, of("settings")); err != nil {
		return err
	}
	if _, err := effects.Inspect(ctx, tx, c.t); err != nil {
		return err
	}
	if err := c.readFacts(ctx, tx, of("facts")); err != nil {
		return fmt.Errorf("read facts: %w", err)
	}
	if err := c.readEffects(ctx, tx, of("effects")); err != nil {
		return fmt.Errorf("read effects: %w", err)
	}
	if err := c.readQuarantine(ctx, tx, of("decided")); err != nil {
		return fmt.Errorf("read quarantine: %w", err)
	}
	return nil
}

// values is an array of the attributes of a row, in the order of the description.
func (c *comparison) values(of func(name string) string) string {
	all := make([]string, len(c.names))
	for i, name := range c.names {
		all[i] = of(name)
	}
	return "ARRAY[" + strings.Join(all, ", ") + "]::text[]"
}

// text is what those values are compared as.
func (c *comparison) text(values []*string) string {
	return told(c.names, func(name string) (string, bool) {
		if v := values[slices.Index(c.names, name)]; v != nil {
			return *v, true
		}
		return "", false
	})
}

func (c *comparison) read() {
	c.report.Rows++
	if c.report.Rows%progressEvery == 0 {
		c.cfg.Progress(c.report.Records, c.report.Rows)
	}
}

func (c *comparison) readFacts(ctx context.Context, tx pgx.Tx, sql string) error {
	rows, err := tx.Query(ctx, sql, orNull(c.cfg.Since), orNull(c.cfg.Until))
	if err != nil {
		return err
	}
	var account, key string
	var id int64
	var values []*string
	var within bool
	_, err = pgx.ForEachRow(rows, []any{&account, &key, &id, &values, &within}, func() error {
		c.read()
		e := c.at(account, key)
		e.factID, e.factText, e.inWindow = id, c.text(values), e.inWindow || within
		return nil
	})
	return err
}

func (c *comparison) readEffects(ctx context.Context, tx pgx.Tx, sql string) error {
	rows, err := tx.Query(ctx, sql, orNull(c.cfg.Since), orNull(c.cfg.Until))
	if err != nil {
		return err
	}
	var account, key, id string
	var fact int64
	var values []*string
	var within bool
	_, err = pgx.ForEachRow(rows, []any{&account, &key, &id, &fact, &values, &within}, func() error {
		c.read()
		e := c.at(account, key)
		e.count++
		if len(e.effects) < namedEffects {
			e.effects = append(e.effects, id)
		}
		e.linked, e.effect, e.inWindow = fact != 0 && fact == e.factID, c.text(values), e.inWindow || within
		return nil
	})
	return err
}

func (c *comparison) readQuarantine(ctx context.Context, tx pgx.Tx, sql string) error {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return err
	}
	var id int64
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
		c.resolved[id] = true
		return nil
	})
	return err
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
