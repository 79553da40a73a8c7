package outbox

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// Querier is what reading the schema needs: a connection, a pool or a transaction of pgx.
// The catalog is read in a read-only transaction, or behind a savepoint of the given one, so
// that the settings it needs go away with it.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Schema is what a database says about its Holdfast.
type Schema struct {
	Name       string           // of the database schema
	Params     canonical.Params // with which the component outbox was rendered
	Components []Installed      // in alphabetical order
	Identity   int64            // system identifier of the cluster that serves the database now

	live *catalog.Live // what is really there, whatever the migrations recorded
}

// Installed is a component that a database has.
type Installed struct {
	Component canonical.Component
	Version   int
	Checksum  string           // of the SQL that made it, in hex
	Params    canonical.Params // with which that SQL was rendered
	Identity  int64            // system identifier of the cluster in which its transaction ids mean something
}

// Component returns an installed component.
func (s Schema) Component(c canonical.Component) (Installed, bool) {
	for _, i := range s.Components {
		if i.Component == c {
			return i, true
		}
	}
	return Installed{}, false
}

// ReadSchema reads what is installed in a database schema; "" means the default, outbox.
// It judges nothing, which [Schema.Check] does. Where nothing is installed the error
// matches [ErrSchemaMissing], and a transaction can go on.
func ReadSchema(ctx context.Context, db Querier, schema string) (Schema, error) {
	s := Schema{Name: schema}
	if s.Name == "" {
		s.Name = canonical.DefaultParams().Schema
	}
	if !canonical.ValidIdentifier(s.Name) {
		return Schema{}, fmt.Errorf("read schema: %q is not the name of a database schema", s.Name)
	}
	rows, err := db.Query(ctx, in(s.Name, schemaExistsSQL))
	if err != nil {
		return Schema{}, fmt.Errorf("read schema %s: %w", s.Name, explain(err, nil, 0))
	}
	exists, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
	if err != nil {
		return Schema{}, fmt.Errorf("read schema %s: %w", s.Name, explain(err, nil, 0))
	}
	if !exists {
		return Schema{}, &SchemaError{Schema: s.Name, Component: canonical.Outbox, Property: "version", Expected: versionText(canonical.Outbox), kind: ErrSchemaMissing}
	}
	rows, err = db.Query(ctx, in(s.Name, schemaReadSQL))
	if err != nil {
		return Schema{}, fmt.Errorf("read schema %s: %w", s.Name, explain(err, nil, 0))
	}
	s.Components, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Installed, error) {
		var i Installed
		var params string
		if err := row.Scan(&i.Component, &i.Version, &i.Checksum, &params, &i.Identity, &s.Identity); err != nil {
			return i, err
		}
		i.Params, err = canonical.ParseParams(params)
		return i, err
	})
	if err != nil {
		return Schema{}, fmt.Errorf("read schema %s: %w", s.Name, explain(err, nil, 0))
	}
	for _, c := range []canonical.Component{canonical.Saga, canonical.Consumer, canonical.Outbox} { // the first two need no log
		if i, has := s.Component(c); has {
			s.Params = i.Params
		}
	}
	if s.live, err = catalog.Read(ctx, db, s.Name); err != nil {
		return Schema{}, fmt.Errorf("read schema %s: %w", s.Name, explain(err, nil, 0))
	}
	return s, nil
}

// Verify reads a database schema and checks it: [ReadSchema], then [Schema.Check]. It
// returns what it read also beside a mismatch. Relays call it at their start, and services
// do well to.
func Verify(ctx context.Context, db Querier, schema string, components ...canonical.Component) (Schema, error) {
	s, err := ReadSchema(ctx, db, schema)
	if err != nil {
		return s, err
	}
	return s, s.Check(components...)
}

// Verify checks the database for this publisher: its schema has the components, outbox
// when none is named, as this build expects them, and does not take less than
// Config.MaxEventBytes. Errors are those of [Schema.Check].
func (p *Publisher) Verify(ctx context.Context, db Querier, components ...canonical.Component) error {
	s, err := Verify(ctx, db, p.schema, components...)
	if err != nil {
		return err
	}
	if limit := s.Params.MaxEventBytes; limit < p.maxEventBytes {
		return &SchemaError{Schema: s.Name, Component: canonical.Outbox, Property: "max_event_bytes",
			Found: fmt.Sprint(limit), Expected: fmt.Sprint(p.maxEventBytes), kind: ErrSchemaMismatch}
	}
	return nil
}
