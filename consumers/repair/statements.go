package repair

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/internal/statement"
)

//go:embed sql/*.sql
var files embed.FS

// statements returns the SQL of a repair by file name, with the description filled in.
func statements(schema string, t effects.Table, names []effects.Naming) map[string]string {
	texts := statement.Read(files, schema)
	reversed := "false"
	if t.Reversal != nil {
		reversed = t.Fill(strings.TrimSpace(texts["reversed"]), schema)
	}
	types, matches := eventsOf(t)
	into, values := reversalOf(t)
	more := []string{
		"{{status}}", statusOf(t), "{{compared}}", comparedOf(t), "{{referenced}}", referencedOf(names), "{{reversed}}", reversed,
		"{{kept}}", strings.TrimSpace(texts["kept"]), "{{types}}", types, "{{matches}}", matches,
		"{{into}}", into, "{{values}}", values, "{{reversal_attributes}}", reversalAttributes(t),
	}
	for name, text := range texts {
		texts[name] = t.Fill(text, schema, more...)
	}
	return texts
}

func statusOf(t effects.Table) string {
	if t.Status == "" {
		return "''"
	}
	return "coalesce(e." + effects.Quote(t.Status) + "::text, '')"
}

func comparedOf(t effects.Table) string {
	columns := []string{"1"} // a row of nothing has no text
	for _, column := range t.Compared() {
		columns = append(columns, "e."+effects.Quote(column))
	}
	return strings.Join(columns, ", ")
}

// referencedOf is whether a row of another table, or another row of this one, names the row.
func referencedOf(names []effects.Naming) string {
	conditions := []string{"false"}
	for _, n := range names {
		pairs := make([]string, len(n.Columns))
		for i, column := range n.Columns {
			pairs[i] = "r." + effects.Quote(column) + " = e." + effects.Quote(n.Named[i])
		}
		conditions = append(conditions, fmt.Sprintf("EXISTS (SELECT FROM %s AS r WHERE %s)", effects.Relation(n.Table), strings.Join(pairs, " AND ")))
	}
	return strings.Join(conditions, " OR ")
}

// eventsOf are the types of events that tell of a row, and by each what has its id.
func eventsOf(t effects.Table) (types, matches string) {
	var names, cases []string
	for _, e := range t.Events {
		id := "o.subject"
		if e.Field != "" {
			id = "convert_from(o.data, 'UTF8')::jsonb ->> " + effects.Literal(e.Field)
		}
		names = append(names, effects.Literal(e.Type))
		cases = append(cases, "WHEN "+effects.Literal(e.Type)+" THEN "+id)
	}
	return strings.Join(names, ", "), strings.Join(cases, " ")
}

// reversalOf are the columns of a reversal, and what each is of the duplicate e and the fact f.
func reversalOf(t effects.Table) (into, values string) {
	r := t.Reversal
	if r == nil {
		return "", ""
	}
	columns, from := []string{effects.Quote(t.Fact)}, []string{"f.id"}
	add := func(column, value string) {
		columns, from = append(columns, effects.Quote(column)), append(from, value)
	}
	copied := slices.Clone(r.Copy)
	if _, set := r.Set[t.Account]; !set && !slices.Contains(copied, t.Account) {
		copied = append(copied, t.Account)
	}
	for _, column := range copied {
		add(column, "e."+effects.Quote(column))
	}
	for _, column := range r.Negate {
		add(column, "-e."+effects.Quote(column))
	}
	for _, column := range slices.Sorted(maps.Keys(r.Set)) {
		add(column, effects.Literal(r.Set[column]))
	}
	return strings.Join(columns, ", "), strings.Join(from, ", ")
}

// reversalAttributes are what the fact of a reversal is known to be: as the columns of its row.
func reversalAttributes(t effects.Table) string {
	if t.Reversal == nil {
		return ""
	}
	pairs := []string{}
	for _, name := range slices.Sorted(maps.Keys(t.Attributes)) {
		column := t.Attributes[name]
		value := "e." + effects.Quote(column) + "::text"
		if slices.Contains(t.Reversal.Negate, column) {
			value = "(-e." + effects.Quote(column) + ")::text"
		} else if set, has := t.Reversal.Set[column]; has {
			value = effects.Literal(set) + "::text"
		}
		pairs = append(pairs, effects.Literal(name)+", "+value)
	}
	return "jsonb_strip_nulls(jsonb_build_object(" + strings.Join(pairs, ", ") + "))"
}
