package adopt

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/holdfast-dev/holdfast/gen"
)

// forwardName is the trigger that forwards what is still written to the old table.
const forwardName = "holdfast_forward"

var templates = template.Must(template.ParseFS(sources, "sql/*.tmpl"))

// sqlParts is what the templates are filled with. All of it is SQL.
type sqlParts struct {
	Tag, Table, Class, Locks, Outbox string
	Fingerprint, Expected, Hazards   string
	Require, Unknown, Where, Forward string
	UnknownNew                       string
	Requires                         string // a text
	RowID, ID, Source, Ties, OrderBy string
	Key                              string
	Columns, Values                  string
	Set, After, SameRow, Left        string
	Function, Trigger                string
	Forwarding, Dropping             string // the statements that adopt and end the table
	Shown                            int
	Name                             string // of the table, for a person
}

// Says writes the text of an error.
func (p sqlParts) Says(text string) string {
	return literal("adopt " + p.Name + ": " + text)
}

// Migration returns the migration that moves the rows and puts the trigger on the table.
func (a *Adoption) Migration(service string) (gen.Migration, error) {
	p := a.parts()
	a.fill(&p)
	sql, err := a.render("move.sql.tmpl", p)
	if err != nil {
		return gen.Migration{}, err
	}
	return gen.Migration{
		Service: service, Name: "adopt " + a.Table, Header: a.header(), SQL: sql,
		Once: p.Forwarding, Again: p.Dropping,
		Refusal: a.refusal("the events of " + a.table.String() + " belong to event_outbox now, and may be published"),
	}, nil
}

func (a *Adoption) render(name string, p sqlParts) (string, error) {
	for tag := "adopt"; ; tag += "_" {
		p.Tag = tag
		var out strings.Builder
		if err := templates.ExecuteTemplate(&out, name, p); err != nil {
			return "", fmt.Errorf("write the migration of table %s: %w", a.table, err)
		}
		// No text may end the statement: the tag stands at its beginning and at its end alone.
		if strings.Count(out.String(), "$"+tag+"$") == 2 {
			if strings.Contains(strings.ReplaceAll(out.String(), "$forward$", ""), "$forward") {
				return "", fmt.Errorf("write the migration of table %s: a name or a text has $forward in it", a.table)
			}
			return out.String(), nil
		}
	}
}

// parts is what both migrations are filled with.
func (a *Adoption) parts() sqlParts {
	t := a.table
	return sqlParts{
		Table: t.quoted(), Class: t.class(), RowID: t.rowID(), Left: a.marker.left(),
		Function: ident(t.schema) + "." + ident(functionName(t.name)), Trigger: forwardName, Shown: shown, Name: t.String(),
		Forwarding: t.forwarding(), Dropping: t.dropping(),
	}
}

// fill adds what only the move needs.
func (a *Adoption) fill(p *sqlParts) {
	t, m := a.table, a.marker
	p.Locks = strings.Join(append([]string{t.quoted()}, m.lock...), ", ")
	p.Outbox = ident(a.opts.Params.Schema) + ".event_outbox"
	p.Fingerprint, p.Expected = strings.ReplaceAll(fingerprintSQL, "$1", p.Class), literal(t.fingerprint)
	p.Hazards = indent(strings.ReplaceAll(hazardsSQL, "$1", p.Class), "    ")
	p.Require, p.Requires, p.Unknown, p.Where, p.Forward = m.require, m.requires, m.unknown, m.where, m.forward
	p.ID, p.Source, p.Ties, p.OrderBy = a.mapping.values[0], a.mapping.values[1], a.tiesSQL("e.key"), columnsOf(a.Order)
	p.Key = a.mapping.key + "::text"
	p.Columns, p.Values = strings.Join(a.mapping.columns, ", "), strings.Join(a.mapping.values, ",\n         ")
	p.Set, p.After, p.UnknownNew = m.set, m.after, m.unknownNew
	var same []string
	for _, name := range t.primaryKey() {
		same = append(same, "o."+ident(name)+" = NEW."+ident(name))
	}
	p.SameRow = strings.Join(same, " AND ")
}

// functionName keeps to what Postgres takes as a name.
func functionName(table string) string {
	name := forwardName + "_" + table
	for len(name) > 63 {
		runes := []rune(name)
		name = string(runes[:len(runes)-1])
	}
	return name
}

func indent(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }

// header is what people read in the file.
func (a *Adoption) header() string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(strings.TrimRight("-- "+oneLine(fmt.Sprintf(format, args...)), " ") + "\n")
	}
	line("Written by outbox-gen adopt; look it over, and edit it if need be: outbox-gen check leaves it alone.")
	line("It moves the unpublished events of %s (%s) into %s.event_outbox.", a.table, a.Shape.Title(), a.opts.Params.Schema)
	line("")
	line("unpublished: %s", a.Unpublished)
	if len(a.Order) > 0 {
		line("order:       %s", strings.Join(a.Order, ", "))
	} else {
		line("order:       none, and none is needed while no key has two events; otherwise the migration stops")
	}
	for _, l := range a.Mapping {
		note := ""
		if l.Note != "" {
			note = " (" + l.Note + ")"
		}
		line("%s <- %s%s", l.To, l.From, note)
	}
	if len(a.Left) > 0 {
		line("not moved:   %s", strings.Join(a.Left, ", "))
	}
	line("")
	for _, step := range a.Steps() {
		line("%s", step)
	}
	return b.String()
}

func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// Steps says what happens to writers, and what people have to do.
func (a *Adoption) Steps() []string {
	steps := []string{
		"Before it runs: install the canonical schema, and stop the old relay. It has to run before the first version of the",
		"service that writes to event_outbox itself. While it runs, writers of the table wait; for the lock it waits 10 s at",
		"most, then gives up with nothing changed, and may run again. Reading goes on.",
		"After it: what is still written to the table is forwarded by a trigger, in the writer's transaction.",
	}
	switch a.Shape {
	case Debezium:
		steps = append(steps, "The connector reads the log of the server and not the table: let it catch up before the relay starts, then stop it for good.")
	case Watermill:
		steps = append(steps, "The forwarder must not run again: it would publish what is forwarded a second time.")
	}
	return append(steps, "The table and its rows stay, until outbox-gen adopt --drop-old.")
}

func (a *Adoption) refusal(why string) string {
	return `DO $refusal$
BEGIN
  RAISE EXCEPTION USING
    ERRCODE = 'feature_not_supported',
    MESSAGE = ` + literal("adopt cannot be rolled back: "+oneLine(why)) + `,
    HINT    = 'Nothing was changed.';
END
$refusal$;
`
}
