package adopt

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/gen"
)

// LookToDrop looks at a table that was adopted, to be rid of it. Of the options, those count
// that say what was published. Errors are those of [Look].
func LookToDrop(ctx context.Context, db DB, opts Options) (*Adoption, error) {
	return begin(ctx, db, opts, (*look).runDrop)
}

func (t *table) isAdopted() bool {
	return slices.ContainsFunc(t.hazards, func(h hazard) bool { return h.Kind == "trigger" && h.Name == forwardName })
}

func (l *look) runDrop(ctx context.Context) (*Adoption, error) {
	if !l.table.isAdopted() {
		l.reasons.add("run the migration of outbox-gen adopt first", "it was not adopted: it has no trigger %s", forwardName)
		return nil, nil
	}
	l.table.hazards = slices.DeleteFunc(l.table.hazards, func(h hazard) bool { return h.Name == forwardName })
	l.structure()
	m, err := l.marker(ctx)
	if err != nil || m == nil {
		return nil, err
	}
	a := &Adoption{Schema: l.table.schema, Table: l.table.name, Shape: l.shape, Unpublished: m.told, table: l.table, marker: m, opts: l.opts}
	ids, n, err := l.list(ctx, m.left(), "")
	if err == nil && n > 0 {
		l.reasons.add("publish them, or mark them as published", "%d rows were not published: %s", n, ids)
	}
	return a, err
}

// DropMigration returns the migration that drops the old table and its trigger. It stops, with
// nothing changed, if the table was not adopted or has rows that were not published.
func (a *Adoption) DropMigration(service string) (gen.Migration, error) {
	p := a.parts()
	sql, err := a.render("drop.sql.tmpl", p)
	if err != nil {
		return gen.Migration{}, err
	}
	header := "-- Written by outbox-gen adopt --drop-old; look it over, and edit it if need be: outbox-gen check leaves it alone.\n" +
		"-- It drops " + oneLine(a.table.String()) + ", whose events are in event_outbox. No version of the service may write there any more.\n"
	return gen.Migration{
		Service: service, Name: "drop adopted " + a.Table, Header: header, SQL: sql,
		Once: p.Dropping, Again: p.Forwarding,
		Refusal: a.refusal("the table " + a.table.String() + " is dropped"),
	}, nil
}
