package records

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

//go:embed sql/sizes.sql
var sizesSQL string

//go:embed sql/events.sql
var eventsSQL string

// Statements returns the SQL of this package, for a test that prepares it.
func Statements(schema string) []string { return []string{in(schema, sizesSQL), in(schema, eventsSQL)} }

func in(schema, sql string) string { return strings.ReplaceAll(sql, "{{schema}}", schema) }

// Place is where an event lies in the log.
type Place struct {
	Lane int16
	Seq  int64
}

// Record is an event with its place.
type Record struct {
	Place
	outbox.Record
}

// chunk is how many places are looked at in one statement.
const chunk = 500

// Bytes is how much payload Each reads at a time, but for single events that are larger.
const Bytes = 8 << 20

// Querier is a transaction, a connection or a pool of pgx.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Each calls do with the events at the places, in their order, as many at a time as fit into
// [Bytes]. Places that the log has no event for any more are left out. An error of do ends it.
func Each(ctx context.Context, db Querier, schema string, places []Place, do func([]Record) error) error {
	for len(places) > 0 {
		n := min(chunk, len(places))
		sizes, err := sizesOf(ctx, db, schema, places[:n])
		if err != nil {
			return err
		}
		for first := 0; first < n; {
			end, sum := first, 0
			for end < n && (end == first || sum+sizes[end] <= Bytes) {
				sum += sizes[end]
				end++
			}
			list, err := read(ctx, db, schema, places[first:end])
			if err != nil {
				return err
			}
			if len(list) > 0 {
				if err := do(list); err != nil {
					return err
				}
			}
			first = end
		}
		places = places[n:]
	}
	return nil
}

// columns turns places into arrays.
func columns(places []Place) (lanes []int16, seqs []int64) {
	lanes, seqs = make([]int16, len(places)), make([]int64, len(places))
	for i, p := range places {
		lanes[i], seqs[i] = p.Lane, p.Seq
	}
	return lanes, seqs
}

func sizesOf(ctx context.Context, db Querier, schema string, places []Place) ([]int, error) {
	lanes, seqs := columns(places)
	rows, err := db.Query(ctx, in(schema, sizesSQL), lanes, seqs)
	if err != nil {
		return nil, fmt.Errorf("measure events: %w", err)
	}
	sizes := make([]int, len(places))
	var n, size int
	_, err = pgx.ForEachRow(rows, []any{&n, &size}, func() error { sizes[n-1] = size; return nil })
	if err != nil {
		return nil, fmt.Errorf("measure events: %w", err)
	}
	return sizes, nil
}

func read(ctx context.Context, db Querier, schema string, places []Place) ([]Record, error) {
	lanes, seqs := columns(places)
	rows, err := db.Query(ctx, in(schema, eventsSQL), lanes, seqs)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Record, err error) {
		var at *time.Time
		err = row.Scan(&r.Lane, &r.Seq, &r.ID, &r.Source, &r.Type, &r.Subject, &at, &r.DataContentType, &r.DataSchema, &r.PartitionKey, &r.Extensions, &r.Data)
		if at != nil {
			r.Time = at.UTC()
		}
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return list, nil
}
