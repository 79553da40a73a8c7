package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// createTable makes a table with all that belongs to it: its partitions, and the rows that it
// began with.
func (c *comparison) createTable(o Object) string {
	if parent := c.want.parent(o.Name); parent != "" {
		return c.createPartition(o)
	}
	var columns []string
	for _, column := range c.want.of(kindColumn, o.Name) {
		columns = append(columns, "  "+c.columnDefinition(column))
	}
	sql := []string{fmt.Sprintf("CREATE TABLE %s (\n%s\n)%s%s;", c.name(o.Name), strings.Join(columns, ",\n"), c.partitionBy(o), c.with(o))}
	for _, column := range c.want.of(kindColumn, o.Name) {
		sql = append(sql, c.columnExtras(column)...)
	}
	for _, partition := range c.want.partitions(o.Name) {
		sql = append(sql, c.createPartition(Object{Kind: kindTable, Name: partition}))
	}
	sql = append(sql, c.belongings(o.Name)...)
	return strings.Join(sql, "\n")
}

// belongings makes the constraints, indexes and triggers of a table, foreign keys last.
func (c *comparison) belongings(table string) []string {
	var sql []string
	for _, k := range c.want.of(kindConstraint, table) {
		if c.references(k) == "" {
			sql = append(sql, c.addConstraint(k))
		}
	}
	for _, index := range c.want.of(kindIndex, table) {
		if c.want[index][propConstraint] == "" {
			sql = append(sql, c.createIndex(index))
		}
	}
	if seed := c.want[Object{Kind: kindTable, Name: table}][propSeed]; seed != "" {
		sql = append(sql, seed)
	}
	for _, trigger := range c.want.of(kindTrigger, table) {
		sql = append(sql, c.want[trigger][propDefinition]+";")
	}
	return append(sql, c.foreignKeys(table)...)
}

// foreignKeys adds the foreign keys for which a table was the last thing missing. Tables are
// made in the order of their names.
func (c *comparison) foreignKeys(table string) []string {
	var sql []string
	for _, owner := range c.want.of(kindTable, "") {
		for _, k := range c.want.of(kindConstraint, owner.Name) {
			other := c.references(k)
			if other == "" || max(c.lost(owner.Name), c.lost(other)) != table {
				continue
			}
			sql = append(sql, c.addConstraint(k))
		}
	}
	return sql
}

// lost returns the name of a table that is not there, "" for one that is.
func (c *comparison) lost(table string) string {
	if c.have.has(Object{Kind: kindTable, Name: table}) {
		return ""
	}
	return table
}

func (c *comparison) partitionBy(o Object) string {
	if key := c.want[o]["partition key"]; key != "" {
		return " PARTITION BY " + key
	}
	return ""
}

// with writes the storage settings of a table.
func (c *comparison) with(o Object) string {
	var options []string
	for property, value := range c.want[o] {
		if option, is := strings.CutPrefix(property, propOption); is {
			options = append(options, option+" = "+value)
		}
	}
	if options == nil {
		return ""
	}
	slices.Sort(options)
	return " WITH (" + strings.Join(options, ", ") + ")"
}

// createPartition makes a partition, or attaches the table that bears its name.
func (c *comparison) createPartition(o Object) string {
	parent, bounds, _ := strings.Cut(c.want[o][propParent], " ")
	if c.have.has(o) {
		return fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s %s;", c.name(parent), c.name(o.Name), bounds)
	}
	return fmt.Sprintf("CREATE TABLE %s PARTITION OF %s %s%s;", c.name(o.Name), c.name(parent), bounds, c.with(o))
}

// changeTable gives a table the expected value of one property.
func (c *comparison) changeTable(o Object, property string) string {
	table := "ALTER TABLE " + c.name(o.Name)
	switch property {
	case propParent:
		return c.changeParent(o)
	case "persistence":
		return table + " SET LOGGED;"
	case "access method":
		return table + " SET ACCESS METHOD heap;" // from version 15 on
	case "replica identity":
		return table + " REPLICA IDENTITY DEFAULT;"
	case "row security":
		return table + " DISABLE ROW LEVEL SECURITY;"
	case "forced row security":
		return table + " NO FORCE ROW LEVEL SECURITY;"
	}
	return fmt.Sprintf("-- %s cannot become what it should be in place: move its rows away, drop it, and run this again.", c.name(o.Name))
}

// changeParent puts a partition where it belongs.
func (c *comparison) changeParent(o Object) string {
	var sql []string
	if wrong := c.have.parent(o.Name); wrong != "" {
		if strings.Contains(c.have[o][propParent], " ") {
			sql = append(sql, fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s;", c.relationName(wrong), c.name(o.Name)))
		} else {
			sql = append(sql, fmt.Sprintf("ALTER TABLE %s NO INHERIT %s;", c.name(o.Name), c.relationName(wrong)))
		}
	}
	if c.want.parent(o.Name) != "" {
		sql = append(sql, c.createPartition(o))
	}
	return strings.Join(sql, "\n")
}
