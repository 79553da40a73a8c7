package position

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/since.sql
var sinceSQL string

//go:embed sql/until.sql
var untilSQL string

// Statements returns the SQL of this package, for a test that prepares it.
func Statements(schema string) []string { return []string{in(schema, sinceSQL), in(schema, untilSQL)} }

func in(schema, sql string) string { return strings.ReplaceAll(sql, "{{schema}}", schema) }

// Querier is a transaction of pgx.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Window is a range of numbers: First and later, before End.
type Window struct {
	First, End int64
	// After is a moment before which no event of the window entered the log; zero when
	// there is no such moment.
	After time.Time
}

// Between returns the window of the events that entered the log at since or later and before
// until. A zero time leaves that side open.
func Between(ctx context.Context, db Querier, schema string, since, until time.Time) (Window, error) {
	w := Window{First: math.MinInt64, End: math.MaxInt64}
	if !since.IsZero() {
		first, after, err := Since(ctx, db, schema, since)
		if err != nil {
			return w, err
		}
		w.First, w.After = first, after
	}
	if !until.IsZero() {
		var end *int64
		if err := db.QueryRow(ctx, in(schema, untilSQL), until).Scan(&end); err != nil {
			return w, failed(until, err)
		}
		if end != nil {
			w.End = *end
		}
	}
	return w, nil
}

// Since returns the first number of a window that begins at a moment, and a moment before which none of
// its numbers was drawn. Both are as low as can be when no number can be dated.
func Since(ctx context.Context, db Querier, schema string, at time.Time) (first int64, after time.Time, err error) {
	var number *int64
	var before *time.Time
	if err := db.QueryRow(ctx, in(schema, sinceSQL), at).Scan(&number, &before); err != nil {
		return 0, time.Time{}, failed(at, err)
	}
	first = math.MinInt64
	if number != nil {
		first = *number
	}
	if before != nil {
		after = *before
	}
	return first, after, nil
}

func failed(at time.Time, err error) error {
	return fmt.Errorf("find the position of %s: %w", at.UTC().Format(time.RFC3339), err)
}
