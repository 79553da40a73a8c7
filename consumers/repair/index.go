package repair

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/effects"
)

// The states of the index.
const (
	indexAbsent  = "absent"
	indexInvalid = "invalid"
	indexThere   = "there"
	indexBuilt   = "built"
)

// indexState looks the index up in the catalog. shape is on what it is. One that constrains and is on something
// else is an error.
func (j *job) indexState(ctx context.Context) (state, shape string, err error) {
	var valid, wanted bool
	err = j.tx.QueryRow(ctx, j.sql["index"], effects.Relation(j.t.Table), j.t.Index).Scan(&valid, &wanted, &shape)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return indexAbsent, "", nil
	case err != nil:
		return "", "", wrap("look for the index", err)
	case !valid:
		return indexInvalid, shape, nil
	case !wanted:
		return "", "", &IndexError{j.t.Index, shape, "unique (" + j.indexOn() + ") where " + j.t.IsCanonical("")}
	}
	return indexThere, shape, nil
}

func (j *job) createIndex(name, table string) string {
	return fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s) WHERE %s", effects.Quote(name), table, j.indexOn(), j.t.IsCanonical(""))
}

func (j *job) indexOn() string {
	return strings.Join(append([]string{effects.Quote(j.t.Account)}, j.t.KeyParts("")...), ", ")
}

// index builds it. One that is invalid, as CREATE INDEX CONCURRENTLY leaves it when it fails, constrains
// nothing and is built anew. One that is valid must be of this very shape.
func (j *job) index(ctx context.Context) error {
	switch j.report.IndexState {
	case indexThere:
		return nil
	case indexInvalid:
		if _, err := j.tx.Exec(ctx, "DROP INDEX "+j.indexName()); err != nil {
			return wrap("drop the invalid index", err)
		}
	}
	if _, err := j.tx.Exec(ctx, j.createIndex(j.t.Index, effects.Relation(j.t.Table))); err != nil {
		return wrap("build the index", err)
	}
	j.report.IndexState = indexBuilt
	return nil
}

// indexName is in the schema of its table.
func (j *job) indexName() string {
	if schema, _, found := strings.Cut(j.t.Table, "."); found {
		return effects.Quote(schema) + "." + effects.Quote(j.t.Index)
	}
	return effects.Quote(j.t.Index)
}

// proveIndex compares the index with the one that is wanted, as the catalog spells both: the wanted one is
// built on an empty copy of the table.
func (j *job) proveIndex(ctx context.Context) error {
	state, have, err := j.indexState(ctx)
	if err != nil {
		return err
	}
	if state != indexThere {
		return &AssertionError{"the unique index is " + state}
	}
	for _, sql := range []string{
		"CREATE TEMPORARY TABLE holdfast_wanted (LIKE " + effects.Relation(j.t.Table) + ") ON COMMIT DROP",
		j.createIndex("holdfast_wanted_index", "pg_temp.holdfast_wanted"),
	} {
		if _, err := j.tx.Exec(ctx, sql); err != nil {
			return wrap("spell the index", err)
		}
	}
	var valid, wanted bool
	var want string
	if err := j.tx.QueryRow(ctx, j.sql["index"], "pg_temp.holdfast_wanted", "holdfast_wanted_index").Scan(&valid, &wanted, &want); err != nil {
		return wrap("spell the index", err)
	}
	if have != want {
		return &IndexError{j.t.Index, have, want}
	}
	return nil
}
