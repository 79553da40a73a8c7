package catalog

import (
	"fmt"
	"strings"
)

// createSequence makes a sequence that goes on after what its numbers were used for.
func (c *comparison) createSequence(o Object) string {
	p := c.want[o]
	sql := fmt.Sprintf("CREATE SEQUENCE %s AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s;",
		c.name(o.Name), p["type"], p["increment"], p["minimum"], p["maximum"], p["start"], p["cache"])
	for column, props := range c.want {
		if column.Kind == kindColumn && c.have.has(column) && c.want.parent(column.Table) == "" && strings.HasPrefix(props["default"], "nextval('"+c.name(o.Name)+"'") {
			sql += fmt.Sprintf("\nSELECT setval('%s', coalesce((SELECT max(%s) FROM %s), 0) + 1, false);",
				c.name(o.Name), c.ident(column), c.name(column.Table))
		}
	}
	return sql
}

// advance moves the sequence of an identity column past the numbers that are used.
func (c *comparison) advance(column Object) string {
	table := c.relationName(column.Table)
	return fmt.Sprintf("SELECT setval(pg_get_serial_sequence('%s', '%s'), coalesce((SELECT max(%s) FROM %s), 0) + 1, false);",
		table, column.Name, c.ident(column), table)
}

// changeSequence gives a sequence the expected value of one property.
func (c *comparison) changeSequence(o Object, property string) string {
	value := c.want[o][property]
	clause := map[string]string{
		"type":      "AS " + value,
		"start":     "START WITH " + value,
		"increment": "INCREMENT BY " + value,
		"minimum":   "MINVALUE " + value,
		"maximum":   "MAXVALUE " + value,
		"cache":     "CACHE " + value,
		"cycle":     "NO CYCLE",
	}[property]
	if value != "" && property == "cycle" {
		clause = "CYCLE"
	}
	if o.Kind == kindIdentity {
		if property == "type" {
			return c.changeColumn(Object{Kind: kindColumn, Table: o.Table, Name: o.Name}, property)
		}
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET %s;", c.relationName(o.Table), c.ident(o), clause)
	}
	if property == "persistence" {
		return fmt.Sprintf("ALTER SEQUENCE %s SET LOGGED;", c.name(o.Name)) // from version 15 on
	}
	return fmt.Sprintf("ALTER SEQUENCE %s %s;", c.name(o.Name), clause)
}
