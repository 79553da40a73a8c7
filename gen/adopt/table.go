package adopt

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

//go:embed sql
var sources embed.FS

// source returns an embedded statement without its comments.
func source(name string) string {
	text, _ := sources.ReadFile("sql/" + name + ".sql") // embedded, and a test runs each
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

var (
	candidatesSQL  = source("candidates")
	columnsSQL     = source("columns")
	hazardsSQL     = source("hazards")
	fingerprintSQL = source("fingerprint")
)

// column of the old table.
type column struct {
	Name    string
	Type    string // without its length
	IsEnum  bool
	NotNull bool
	Cache   int64 // of the sequence that fills it; 0 for none
	InKey   bool  // part of the primary key
}

// table is the old table as the catalog tells it.
type table struct {
	schema, name string
	oid          uint32
	columns      []column
	hazards      []hazard
	fingerprint  string // of the columns
}

type hazard struct{ Kind, Name string }

func (t *table) String() string { return t.schema + "." + t.name }

// quoted is the table as SQL names it.
func (t *table) quoted() string { return ident(t.schema) + "." + ident(t.name) }

// forwarding is the beginning of the statement that adopts the table, and dropping the one that ends it. Each
// can run once: they tell whether a folder has the migration.
func (t *table) forwarding() string {
	return "CREATE TRIGGER " + forwardName + " AFTER INSERT ON " + t.quoted() + " FOR EACH ROW"
}

func (t *table) dropping() string { return "DROP TABLE " + t.quoted() + ";" }

// class is a constant that stands for the table.
func (t *table) class() string { return literal(t.quoted()) + "::pg_catalog.regclass" }

// column finds a column; nil if there is none.
func (t *table) column(name string) *column {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &t.columns[i]
}

func (t *table) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return t.column(name) == nil })
}

func (t *table) primaryKey() []string {
	var names []string
	for _, c := range t.columns {
		if c.InKey {
			names = append(names, c.Name)
		}
	}
	return names
}

func (t *table) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.Name
	}
	return names
}

// find finds the table that the options name or, without a name, the only one that looks like
// an outbox.
func find(ctx context.Context, tx pgx.Tx, opts Options) (*table, error) {
	ours, err := catalog.NamesOf(opts.Params, canonical.Components()...)
	if err != nil {
		return nil, err
	}
	named := opts.Table
	rows, err := tx.Query(ctx, candidatesSQL, ours.Tables)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	type candidate struct {
		Schema, Name string
		Columns      []string
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[candidate])
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	var found []*table
	for _, c := range all {
		t := &table{schema: c.Schema, name: c.Name}
		for _, name := range c.Columns {
			t.columns = append(t.columns, column{Name: name})
		}
		if named == t.String() || named == t.name || named == "" && looksLikeOutbox(t) {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		missing := &NotFoundError{Table: named}
		for _, t := range found {
			missing.Table, missing.Tables = "", append(missing.Tables, t.String())
		}
		return nil, missing
	}
	return found[0], read(ctx, tx, found[0])
}

// read fills in what the catalog says about a table.
func read(ctx context.Context, tx pgx.Tx, t *table) error {
	if err := tx.QueryRow(ctx, "SELECT ($1::text)::regclass::oid", t.quoted()).Scan(&t.oid); err != nil {
		return fmt.Errorf("read table %s: %w", t, err)
	}
	rows, err := tx.Query(ctx, columnsSQL, t.oid)
	if err == nil {
		t.columns, err = pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	}
	if err == nil {
		rows, err = tx.Query(ctx, strings.ReplaceAll(hazardsSQL, "$1", "$1::oid"), t.oid)
	}
	if err == nil {
		t.hazards, err = pgx.CollectRows(rows, pgx.RowToStructByPos[hazard])
	}
	if err == nil {
		err = tx.QueryRow(ctx, strings.ReplaceAll(fingerprintSQL, "$1", "$1::oid"), t.oid).Scan(&t.fingerprint)
	}
	if err != nil {
		return fmt.Errorf("read table %s: %w", t, err)
	}
	if len(t.columns) == 0 {
		return fmt.Errorf("read table %s: %w", t, errors.New("it has no columns"))
	}
	return nil
}
