package catalog

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// columnDefinition writes a column as CREATE TABLE and ADD COLUMN take it.
func (c *comparison) columnDefinition(o Object) string {
	p := c.want[o]
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", c.ident(o), p["type"])
	if p["collation"] != "" {
		fmt.Fprintf(&b, " COLLATE %s", p["collation"])
	}
	if p["not null"] != "" {
		b.WriteString(" NOT NULL")
	}
	switch {
	case p["generated"] != "":
		fmt.Fprintf(&b, " GENERATED ALWAYS AS %s", p["generated"])
	case p["identity"] != "":
		fmt.Fprintf(&b, " GENERATED %s AS IDENTITY", p["identity"])
	case p["default"] != "":
		fmt.Fprintf(&b, " DEFAULT %s", p["default"])
	}
	return b.String()
}

// columnExtras sets what a column definition cannot say in every version.
func (c *comparison) columnExtras(o Object) []string {
	var sql []string
	for _, property := range []string{"storage", "compression", "statistics"} {
		if c.want[o][property] != "" {
			sql = append(sql, c.changeColumn(o, property))
		}
	}
	return sql
}

func (c *comparison) addColumn(o Object) string {
	add := fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s;", c.relationName(o.Table), c.columnDefinition(o))
	return strings.Join(append([]string{add}, c.columnExtras(o)...), "\n")
}

// changeColumn gives a column the expected value of one property.
func (c *comparison) changeColumn(o Object, property string) string {
	want, have := c.want[o], c.have[o]
	alter := fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s ", c.relationName(o.Table), c.ident(o))
	switch property {
	case "type", "collation":
		return c.changeType(o, alter)
	case "not null":
		if want[property] == "" {
			return alter + "DROP NOT NULL;"
		}
		return alter + "SET NOT NULL;"
	case "default":
		if want[property] == "" {
			return alter + "DROP DEFAULT;"
		}
		return alter + "SET DEFAULT " + want[property] + ";"
	case "generated":
		return c.changeGenerated(o, alter)
	case "identity":
		switch {
		case want[property] == "":
			return alter + "DROP IDENTITY;"
		case have[property] == "":
			return alter + fmt.Sprintf("ADD GENERATED %s AS IDENTITY;\n%s", want[property], c.advance(o))
		}
		return alter + fmt.Sprintf("SET GENERATED %s;", want[property])
	case "storage":
		return alter + "SET STORAGE " + cmp.Or(want[property], have["~storage"]) + ";"
	case "compression":
		if want[property] == "" {
			return alter + "SET COMPRESSION default;"
		}
		return alter + "SET COMPRESSION " + want[property] + ";"
	case "statistics":
		if want[property] == "" {
			return alter + "SET STATISTICS -1;"
		}
		return alter + "SET STATISTICS " + want[property] + ";"
	}
	var names []string // options, of which we set none
	for _, option := range strings.Split(have[property], ", ") {
		name, _, _ := strings.Cut(option, "=")
		names = append(names, name)
	}
	return alter + "RESET (" + strings.Join(names, ", ") + ");"
}

// changeType changes the type of a column. A default would have to be cast too, and a
// view would forbid it, so both step aside.
func (c *comparison) changeType(o Object, alter string) string {
	want := c.want[o]
	if want["generated"] != "" {
		return c.rebuildColumn(o)
	}
	collate := ""
	if want["collation"] != "" {
		collate = " COLLATE " + want["collation"]
	}
	var sql []string
	if c.have[o]["default"] != "" {
		sql = append(sql, alter+"DROP DEFAULT;")
	}
	sql = append(sql, alter+fmt.Sprintf("TYPE %s%s USING %s::%s;", want["type"], collate, c.ident(o), want["type"]))
	if want["default"] != "" {
		sql = append(sql, alter+"SET DEFAULT "+want["default"]+";")
	}
	return strings.Join(c.withoutViews(o, sql), "\n")
}

// changeGenerated changes how a column is computed. Before version 17 that needs a new column.
func (c *comparison) changeGenerated(o Object, alter string) string {
	want, have := c.want[o]["generated"], c.have[o]["generated"]
	stored := strings.HasSuffix(want, " STORED") && strings.HasSuffix(have, " STORED")
	switch {
	case want == "" && strings.HasSuffix(have, " STORED"):
		return alter + "DROP EXPRESSION;"
	case stored && c.major >= 17:
		return alter + "SET EXPRESSION AS " + strings.TrimSuffix(want, " STORED") + ";"
	}
	return c.rebuildColumn(o)
}

// rebuildColumn drops a column and makes it anew, with the constraints and indexes that the
// old one takes along.
func (c *comparison) rebuildColumn(o Object) string {
	table := c.relationName(o.Table)
	sql := []string{fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s;", table, c.ident(o)), c.addColumn(o)}
	uses := regexp.MustCompile(`\b` + regexp.QuoteMeta(o.Name) + `\b`)
	for _, k := range c.want.of(kindConstraint, o.Table) {
		if uses.MatchString(c.want[k][propDefinition]) {
			sql = append(sql, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s;", table, c.ident(k)), c.addConstraint(k))
		}
	}
	for _, index := range c.want.of(kindIndex, o.Table) {
		if c.want[index][propConstraint] == "" && uses.MatchString(c.want[index][propDefinition]) {
			sql = append(sql, fmt.Sprintf("DROP INDEX IF EXISTS %s;", c.name(index.Name)), c.createIndex(index))
		}
	}
	return strings.Join(c.withoutViews(o, sql), "\n")
}

// withoutViews puts statements between the drop and the creation of our views that read a
// column.
func (c *comparison) withoutViews(column Object, sql []string) []string {
	table := regexp.MustCompile(`\b` + regexp.QuoteMeta(c.name(column.Table)) + `\b`)
	name := regexp.MustCompile(`\b` + regexp.QuoteMeta(column.Name) + `\b`)
	for _, view := range c.want.of(kindView, "") {
		if def := c.have[view][propDefinition]; table.MatchString(def) && name.MatchString(def) {
			sql = append([]string{"DROP VIEW " + c.name(view.Name) + ";"}, sql...)
			sql = append(sql, c.createView(view)+c.regrant(view))
		}
	}
	return sql
}
