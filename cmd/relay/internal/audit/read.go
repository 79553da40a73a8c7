package audit

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

//go:embed sql/*.sql
var files embed.FS

// Filter says which decisions to read.
type Filter struct {
	Since, Until time.Time // zero: no bound; at Until it is over
	Actor        string    // "" for all
	What         []string  // of [Whats], or a noun for all of its verbs; nil for all
	Newest       bool      // the newest first, else the oldest
	Limit        int       // 0 for all
}

// ErrNothing is the error for a database that has no component with a record of decisions.
var ErrNothing = errors.New("no component is installed that records decisions")

// Components are those that record decisions.
func Components() []canonical.Component {
	return []canonical.Component{canonical.Relay, canonical.Hold, canonical.Saga, canonical.Consumer}
}

// Log is the record of one database.
type Log struct {
	db        outbox.Querier
	decisions string // a statement without an end
	// Missing are the components that the database does not have.
	Missing []canonical.Component
}

// Open looks which components a database schema has. It judges no version: what is there is read,
// also in a copy of a database that no relay may drain.
func Open(ctx context.Context, db outbox.Querier, schema string) (*Log, error) {
	installed, err := outbox.ReadSchema(ctx, db, schema)
	if err != nil {
		return nil, err
	}
	l := &Log{db: db}
	var parts []string
	for _, c := range Components() {
		if _, has := installed.Component(c); !has {
			l.Missing = append(l.Missing, c)
			continue
		}
		parts = append(parts, strings.ReplaceAll(text(string(c)), "{{schema}}", pgx.Identifier{installed.Name}.Sanitize()))
	}
	if len(parts) == 0 {
		return nil, ErrNothing
	}
	l.decisions = strings.Join(parts, "UNION ALL\n")
	return l, nil
}

// Each calls do with one decision after another, from one snapshot; an error of do ends it.
func (l *Log) Each(ctx context.Context, f Filter, do func(Decision) error) error {
	order := "ASC"
	if f.Newest {
		order = "DESC"
	}
	sql := strings.NewReplacer("{{decisions}}", l.decisions, "{{order}}", order).Replace(text("list"))
	what := f.What
	if what == nil {
		what = []string{}
	}
	rows, err := l.db.Query(ctx, sql, orNull(f.Since), orNull(f.Until), f.Actor, what, f.Limit)
	if err != nil {
		return fmt.Errorf("read the decisions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var d Decision
		if err := rows.Scan(&d.At, &d.What, &d.Subject, &d.Actor, &d.Reason); err != nil {
			return fmt.Errorf("read a decision: %w", err)
		}
		if err := do(d); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the decisions: %w", err)
	}
	return nil
}

// text is a statement of this package.
func text(name string) string {
	sql, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic("audit: no statement " + name) // the tests read each
	}
	return string(sql)
}

// orNull makes NULL of a time that was not given.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
