package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// DB is what looking needs: a pool or a connection of pgx.
type DB interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Adoption is a table that is understood.
type Adoption struct {
	Schema, Table string
	Shape         Shape
	Unpublished   string // how it is told, for a person
	Mapping       []Line
	Order         []string // columns that tell the order; empty when no key has two events
	Left          []string // columns that are not moved
	Rows          int64    // in the table
	Move          int64    // of these, to move

	table   *table
	marker  *marker
	mapping mapping
	opts    Options
}

// Look looks at the table that the options mean, in one read-only snapshot, and returns what it
// understood. It returns a [*RefusedError] with every reason for a table that it does not
// understand, and a [*NotFoundError] when it is not clear which table is meant.
func Look(ctx context.Context, db DB, opts Options) (*Adoption, error) {
	return begin(ctx, db, opts, (*look).run)
}

// begin runs a look in one snapshot.
func begin(ctx context.Context, db DB, opts Options, run func(*look, context.Context) (*Adoption, error)) (*Adoption, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	opts.Params = opts.Params.WithDefaults()
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("adopt: begin: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // nothing was written
	// The migration has this path too, and names are written by it.
	if _, err := tx.Exec(ctx, "SELECT set_config('search_path', 'pg_catalog, pg_temp', true)"); err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	t, err := find(ctx, tx, opts)
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	l := &look{tx: tx, opts: opts, table: t, shape: shapeOf(t, opts)}
	a, err := run(l, ctx)
	if err != nil {
		return nil, fmt.Errorf("adopt table %s: %w", t, err)
	}
	if len(l.reasons) > 0 {
		return nil, &RefusedError{Table: t.String(), Reasons: l.reasons}
	}
	return a, nil
}

// look is the work on one table.
type look struct {
	tx      pgx.Tx
	opts    Options
	table   *table
	shape   Shape
	reasons reasons

	status  string   // the status column; "" for none
	words   []string // of it, that are known
	objects []string // JSON columns whose fields become extensions
}

func (l *look) run(ctx context.Context) (*Adoption, error) {
	l.structure()
	if l.shape == "" {
		l.reasons.add("it is none of: flag, status, debezium, watermill, copy; name the columns that it has under other names, such as --type-column and --payload-column",
			"it has the shape of no outbox that is known; its columns are %s", strings.Join(l.table.names(), ", "))
		return nil, nil
	}
	marker, err := l.marker(ctx)
	if err != nil || marker == nil {
		l.mapping() // for the other reasons
		return nil, err
	}
	a := &Adoption{Schema: l.table.schema, Table: l.table.name, Shape: l.shape, Unpublished: marker.told, table: l.table, marker: marker, opts: l.opts}
	a.mapping = l.mapping()
	a.Mapping = a.mapping.lines
	a.Order = l.order()
	a.Left = l.columnsLeft(a)
	if len(l.reasons) > 0 {
		return nil, nil // the rows can't be judged yet
	}
	return a, l.rows(ctx, a)
}

// structure refuses what hangs on the table.
func (l *look) structure() {
	if l.table.schema == l.opts.Params.Schema && l.table.name == "event_outbox" {
		l.reasons.add("give the service another schema in outbox-gen.yaml, such as schema: holdfast", "it stands where the canonical table goes")
	}
	for _, h := range l.table.hazards {
		switch {
		case h.Kind == "trigger" && h.Name == forwardName:
			l.reasons.add("to be rid of the table: --drop-old", "it is adopted already: its trigger %s forwards to event_outbox", h.Name)
		case h.Kind == "kind":
			l.reasons.add("only ordinary tables are adopted", "it is %s", h.Name)
		case h.Kind == "partition" || h.Kind == "child":
			l.reasons.add("only tables without partitions are adopted", "it has partitions or inherits: %s", h.Name)
		case h.Kind == "trigger":
			l.reasons.add("nobody knows what it does when rows are moved; drop it first if it is not needed", "it has the trigger %s", h.Name)
		case h.Kind == "rule":
			l.reasons.add("drop it first if it is not needed", "it has the rule %s", h.Name)
		case h.Kind == "row security":
			l.reasons.add("a role that does not see every row would lose events; disable it first", "it has row security")
		default:
			l.reasons.add("something still depends on its rows", "it has the %s %s", h.Kind, h.Name)
		}
	}
	if len(l.table.primaryKey()) == 0 {
		l.reasons.add("give it one", "it has no primary key")
	}
}

// holds refuses events that nobody decided about, for a copy that has holds.
func (l *look) holds(m *marker) {
	if l.shape != Copy || !l.table.has("hold_operation_id") {
		return
	}
	held := `(` + m.where + `) AND o."hold_operation_id" IS NOT NULL`
	if l.table.has("tx") {
		held = `o."tx" IS NULL`
	}
	if m.unknown != "" && m.unknown != held {
		held = m.unknown + " OR " + held
	}
	m.unknown = held
}

// order returns the columns that tell the order, as far as they are known.
func (l *look) order() []string {
	for _, name := range l.opts.Order {
		if l.table.column(name) == nil {
			l.reasons.add("the columns are "+strings.Join(l.table.names(), ", "), "--order-column: there is no column %s", name)
		}
	}
	if len(l.opts.Order) > 0 {
		return l.opts.Order
	}
	var found []string
	for _, c := range l.table.columns {
		if c.Cache == 1 {
			found = append(found, c.Name)
		}
	}
	if len(found) != 1 {
		return nil // the rows will tell whether one is needed
	}
	return found
}

// columnsLeft returns the columns that say nothing about an event, and refuses those that
// nobody knows.
func (l *look) columnsLeft(a *Adoption) []string {
	known := slices.Concat(a.marker.columns, a.Order, l.shape.rest(), l.opts.Ignore)
	var left, unknown []string
	for _, c := range l.table.columns {
		switch {
		case slices.Contains(a.mapping.used, c.Name):
		// A number that the table gives itself says nothing but an order.
		case slices.Contains(known, c.Name), c.Cache > 0:
			left = append(left, c.Name)
		default:
			unknown = append(unknown, c.Name)
		}
	}
	for _, spec := range l.opts.Ignore {
		if name, _, _ := strings.Cut(spec, "."); l.table.column(name) == nil {
			l.reasons.add("the columns are "+strings.Join(l.table.names(), ", "), "--ignore-column: there is no column %s", name)
		}
	}
	for _, name := range unknown {
		l.reasons.add(fmt.Sprintf("--extension %s=%s, or --ignore-column %s, or one of the flags that name a column", extensionName(name), name, name),
			"column %s has no meaning for an event", name)
	}
	return left
}

// extensionName makes a valid name of the name of a column.
func extensionName(column string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(column))
	if name == "" {
		return "name"
	}
	return name[:min(len(name), 20)]
}
