package effects

import (
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The pieces of SQL that a description gives. An alias is written by this module and never quoted.

// Quote returns a name as an identifier.
func Quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// Relation returns the name of the table, quoted.
func Relation(name string) string { return pgx.Identifier(strings.Split(name, ".")).Sanitize() }

// Literal returns a constant as a literal of a type that its place decides.
func Literal(value string) string {
	if strings.ContainsRune(value, '\\') {
		return " E'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(value) + "'"
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}

// Column returns a column of an alias; with the alias "" it is the bare name.
func Column(alias, name string) string {
	if alias == "" {
		return Quote(name)
	}
	return alias + "." + Quote(name)
}

// KeyParts are the values of the key of a row, as the index has them.
func (t Table) KeyParts(alias string) []string {
	parts := make([]string, len(t.Key))
	for i, p := range t.Key {
		parts[i] = Column(alias, p.Column)
		if p.Field != "" {
			parts[i] = "(" + parts[i] + " ->> " + Literal(p.Field) + ")"
		}
	}
	return parts
}

// given is the text of a value, and null for an empty one: package facts makes no key of it.
func given(value string) string { return "nullif(" + value + "::text, '')" }

// IsKeyless is the condition for a row to have no account, or not every part of its key.
func (t Table) IsKeyless(alias string) string {
	values := []string{given(Column(alias, t.Account))}
	for _, part := range t.KeyParts(alias) {
		values = append(values, given(part))
	}
	return "num_nulls(" + strings.Join(values, ", ") + ") > 0"
}

// KeyText is the key of a row as its fact has it: NULL when a part is missing or empty.
func (t Table) KeyText(alias string) string {
	var texts []string
	for i, value := range t.KeyParts(alias) {
		lead := t.Key[i].Name + "="
		if i > 0 {
			lead = "/" + lead
		}
		texts = append(texts, Literal(lead)+" || "+escaped(given(value)))
	}
	return "(" + strings.Join(texts, " || ") + ")"
}

// escaped does what package facts does to a value, so that two lists of parts never make one text.
func escaped(value string) string {
	for _, r := range [][2]string{{"%", "%25"}, {"/", "%2F"}, {"=", "%3D"}} {
		value = "replace(" + value + ", '" + r[0] + "', '" + r[1] + "')"
	}
	return value
}

// ReversalKeyText is the key of the fact that takes a row back, as facts.ReversalKey makes it.
func (t Table) ReversalKeyText(alias string) string {
	return "('reversal_of=' || " + escaped(t.KeyText(alias)) + " || '/duplicate=' || " + escaped(Column(alias, t.ID)+"::text") + ")"
}

// IsEffect is the condition for a row to be an effect of this type, whatever its marker.
func (t Table) IsEffect(alias string) string {
	conditions := []string{}
	for _, column := range slices.Sorted(maps.Keys(t.Only)) {
		conditions = append(conditions, Column(alias, column)+" = "+Literal(t.Only[column]))
	}
	if len(conditions) == 0 {
		return "true"
	}
	return strings.Join(conditions, " AND ")
}

// IsCanonical is the condition for a row to be the effect that counts. It is the predicate of the unique
// index too: a writer that does not know the marker gets its default, and falls inside.
func (t Table) IsCanonical(alias string) string {
	if t.Marker == "" {
		return t.IsEffect(alias)
	}
	own := Column(alias, t.Marker) + " = " + Literal(Canonical)
	if len(t.Only) == 0 {
		return own
	}
	return t.IsEffect(alias) + " AND " + own
}

// IsUntouched is the condition for a row to be as it was made.
func (t Table) IsUntouched(alias string) string {
	conditions := []string{"true"}
	for _, column := range slices.Sorted(maps.Keys(t.Untouched)) {
		if value := t.Untouched[column]; value != nil {
			conditions = append(conditions, Column(alias, column)+" IS NOT DISTINCT FROM "+Literal(*value))
		} else {
			conditions = append(conditions, Column(alias, column)+" IS NULL")
		}
	}
	return strings.Join(conditions, " AND ")
}

// AttributesJSON are the attributes of a row as its fact has them.
func (t Table) AttributesJSON(alias string) string {
	pairs := []string{}
	for _, name := range slices.Sorted(maps.Keys(t.Attributes)) {
		pairs = append(pairs, Literal(name)+", "+Column(alias, t.Attributes[name])+"::text")
	}
	return "jsonb_strip_nulls(jsonb_build_object(" + strings.Join(pairs, ", ") + "))"
}

// Compared are the columns in which duplicates must be equal, beside their key: sorted.
func (t Table) Compared() []string {
	all := slices.Concat(t.Identical, slices.Collect(maps.Values(t.Attributes)))
	slices.Sort(all)
	return slices.Compact(all)
}

// Fill puts the description into the text of a statement, where the row of the table has the alias e:
//
//	{{schema}}        the database schema of the component consumer
//	{{table}}         the table; {{id}}, {{created}}, {{fact}}, {{account}}, {{marker}} its columns, without the alias
//	{{source}}, {{type}}, {{reversal_type}}    constants, as literals
//	{{effect}}, {{canonical}}, {{untouched}}, {{keyless}}   conditions
//	{{is_index}}      a condition on the row i of pg_index
//	{{key}}, {{parts}}, {{reversal_key}}, {{attributes}}   expressions
//
// more are further placeholders, each followed by what it stands for.
func (t Table) Fill(sql, schema string, more ...string) string {
	pairs := []string{
		"{{schema}}", schema, "{{table}}", Relation(t.Table), "{{id}}", Quote(t.ID), "{{created}}", Quote(t.Created), "{{fact}}", Quote(t.Fact),
		"{{account}}", Quote(t.Account), "{{marker}}", Quote(t.Marker), "{{source}}", Literal(t.Source), "{{type}}", Literal(t.Type),
		"{{effect}}", t.IsEffect("e"), "{{canonical}}", t.IsCanonical("e"), "{{untouched}}", t.IsUntouched("e"),
		"{{keyless}}", t.IsKeyless("e"), "{{is_index}}", t.IsIndex("i"),
		"{{key}}", t.KeyText("e"), "{{parts}}", strings.Join(t.KeyParts("e"), ", "), "{{reversal_key}}", t.ReversalKeyText("e"),
		"{{attributes}}", t.AttributesJSON("e"), "{{fact_column}}", Literal(t.Fact), "{{index}}", Literal(t.Index), "{{relation}}", Literal(Relation(t.Table)),
	}
	if t.Reversal != nil {
		pairs = append(pairs, "{{reversal_type}}", Literal(t.Reversal.Type))
	}
	return strings.NewReplacer(append(pairs, more...)...).Replace(sql)
}
