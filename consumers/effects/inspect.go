package effects

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/columns.sql
var columnsSQL string

//go:embed sql/references.sql
var referencesSQL string

// Querier reads: a pool, a connection or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Naming is how rows of another table name rows of this one: Columns of theirs, each of which equals the one
// of ours at the same place in Named.
type Naming struct {
	Table          string
	Columns, Named []string
}

func (n Naming) equal(other Naming) bool {
	return n.Table == other.Table && slices.Equal(n.Columns, other.Columns) && slices.Equal(n.Named, other.Named)
}

// Inspect compares a description with the catalog: every column must exist, also those of references.
// It returns the foreign keys that name rows of the table by whatever columns, beside the references of the
// description, which name them by their id. Errors: [*Error], and those of the database.
func Inspect(ctx context.Context, db Querier, t Table) ([]Naming, error) {
	t = t.WithDefaults()
	if err := t.Validate(); err != nil {
		return nil, err
	}
	var p problems
	have, err := columns(ctx, db, t.Table)
	if err != nil {
		return nil, err
	}
	p.check(len(have) > 0, "table %q: does not exist, or is not visible to this role", t.Table)
	for _, column := range t.Columns() {
		p.check(len(have) == 0 || slices.Contains(have, column), "table %q: has no column %q", t.Table, column)
	}
	for _, r := range t.References {
		other, err := columns(ctx, db, r.Table)
		if err != nil {
			return nil, err
		}
		p.check(slices.Contains(other, r.Column), "table %q: has no column %q", r.Table, r.Column)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	rows, err := db.Query(ctx, referencesSQL, Relation(t.Table))
	if err != nil {
		return nil, fmt.Errorf("find references to %s: %w", t.Table, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Naming])
	if err != nil {
		return nil, fmt.Errorf("find references to %s: %w", t.Table, err)
	}
	for _, r := range t.References {
		named := Naming{Table: r.Table, Columns: []string{r.Column}, Named: []string{t.ID}}
		if !slices.ContainsFunc(found, named.equal) {
			found = append(found, named)
		}
	}
	return found, nil
}

func columns(ctx context.Context, db Querier, table string) ([]string, error) {
	rows, err := db.Query(ctx, columnsSQL, Relation(table))
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	return names, nil
}
