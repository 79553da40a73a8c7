package catalog_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

var every = canonical.Components()

// execute runs SQL of any number of statements.
func execute(ctx context.Context, tx pgx.Tx, sql string) error {
	_, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// install runs the canonical files.
func install(t testing.TB, db catalog.DB, params canonical.Params, components ...canonical.Component) {
	t.Helper()
	plan, err := canonical.Plan(params, components...)
	if err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
		for _, file := range plan {
			if err := execute(t.Context(), tx, file.SQL); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// differences compares a database with what is expected.
func differences(t testing.TB, db catalog.DB, expected *catalog.Expected) []catalog.Difference {
	t.Helper()
	live, err := catalog.Read(t.Context(), db, expected.Params.Schema)
	if err != nil {
		t.Fatal(err)
	}
	return catalog.Compare(expected, live)
}

func wantClean(t testing.TB, found []catalog.Difference) {
	t.Helper()
	for _, d := range found {
		t.Errorf("not expected: %s\nmended by: %s", d, d.Mend)
	}
}
