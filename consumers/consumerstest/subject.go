package consumerstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers"
)

// Subject is the handler that the suite looks at, and what it has to know about it.
type Subject struct {
	// Open returns a private database with the component consumer and the tables of the service,
	// and whatever the events need to be handled. Close it with t.Cleanup. Required. A pool
	// should have 8 connections at least.
	Open func(t testing.TB) *pgxpool.Pool
	// Handler is looked at. Required.
	Handler consumers.Handler
	// Config is the consumer's own: name, effects or proof, probe. Required.
	Config consumers.Config

	// Event returns an event that tells the fact with a number, with an id of its own: the same
	// for the same number. Required.
	Event func(n int) event.Event
	// Same returns another event that tells the same fact, of another type if the service has
	// one. Defaults to the event of Event with another id.
	Same func(n int) event.Event
	// Mismatch returns an event that tells the same fact with other attributes. Required, unless
	// the facts of the service have no attributes: then NoAttributes is true.
	Mismatch     func(n int) event.Event
	NoAttributes bool

	// Count counts the effects in a database. Defaults to the rows of the tables of Config.Effects.
	Count func(ctx context.Context, db *pgxpool.Pool) (int, error)
	// Remove removes all effects. Defaults to the rows of the tables of Config.Effects.
	Remove func(ctx context.Context, db *pgxpool.Pool) error
}

func (s Subject) validate() error {
	var missing []string
	for name, there := range map[string]bool{
		"Open": s.Open != nil, "Handler": s.Handler != nil, "Event": s.Event != nil, "Mismatch or NoAttributes": s.Mismatch != nil || s.NoAttributes,
		"Count, beside a Proof": s.Count != nil || len(s.Config.Effects) > 0, "Remove, beside a Proof": s.Remove != nil || len(s.Config.Effects) > 0,
	} {
		if !there {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("consumerstest: the subject lacks %s", strings.Join(missing, ", "))
	}
	return nil
}

func (s Subject) withDefaults() Subject {
	if s.Same == nil {
		s.Same = func(n int) event.Event {
			e := s.Event(n).Clone()
			e.SetID(e.ID() + "-again")
			return e
		}
	}
	if s.Count == nil {
		s.Count = func(ctx context.Context, db *pgxpool.Pool) (sum int, err error) {
			for _, table := range s.tables() {
				var n int
				if err := db.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
					return 0, err
				}
				sum += n
			}
			return sum, nil
		}
	}
	if s.Remove == nil {
		s.Remove = func(ctx context.Context, db *pgxpool.Pool) error {
			for _, table := range s.tables() {
				if _, err := db.Exec(ctx, "DELETE FROM "+table); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return s
}

// tables are those with effects, each once, quoted.
func (s Subject) tables() []string {
	var tables []string
	for _, e := range s.Config.Effects {
		if table := pgx.Identifier(strings.Split(e.Table, ".")).Sanitize(); !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return tables
}
