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

//go:embed at.sql
var atSQL string

// Querier is a transaction of pgx.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Window is a range of numbers: First and later, before End.
type Window struct{ First, End int64 }

// Between returns the window of the events that entered the log at since or later and before
// until. A zero time leaves that side open.
func Between(ctx context.Context, db Querier, schema string, since, until time.Time) (Window, error) {
	w := Window{First: math.MinInt64, End: math.MaxInt64}
	for _, bound := range []struct {
		at time.Time
		to *int64
	}{{since, &w.First}, {until, &w.End}} {
		if bound.at.IsZero() {
			continue
		}
		n, err := At(ctx, db, schema, bound.at)
		if err != nil {
			return w, err
		}
		if n != nil {
			*bound.to = *n
		}
	}
	return w, nil
}

// At returns the number of the first event that entered the log at a moment or later, or nil
// when no number can be dated.
func At(ctx context.Context, db Querier, schema string, at time.Time) (*int64, error) {
	var n *int64
	if err := db.QueryRow(ctx, strings.ReplaceAll(atSQL, "{{schema}}", schema), at).Scan(&n); err != nil {
		return nil, fmt.Errorf("find the position of %s: %w", at.UTC().Format(time.RFC3339), err)
	}
	return n, nil
}
