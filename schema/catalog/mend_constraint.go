package catalog

import (
	"fmt"
	"strings"
)

// addConstraint adds a constraint. An index of that name would be in its way.
func (c *comparison) addConstraint(o Object) string {
	table := c.relationName(o.Table)
	add := fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s;", table, c.ident(o), c.want[o][propDefinition])
	index := Object{Kind: kindIndex, Table: o.Table, Name: o.Name}
	if c.have.has(index) && c.have[index][propConstraint] == "" && c.want[index][propConstraint] == o.Name {
		return fmt.Sprintf("DROP INDEX %s;\n%s", c.name(o.Name), add)
	}
	return add
}

// changeConstraint gives a constraint the expected definition, or has it checked.
func (c *comparison) changeConstraint(o Object, property string) string {
	table := c.relationName(o.Table)
	if property == "enforcement" {
		return fmt.Sprintf("ALTER TABLE %s ENABLE TRIGGER ALL;%s", table, c.enableReferenced(o))
	}
	if c.onlyUnvalidated(o) {
		return fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s;", table, c.ident(o))
	}
	var before, after []string
	for k, props := range c.want { // a key that others refer to cannot be dropped before them
		if k.Kind == kindConstraint && c.have.has(k) && k != o && refersTo(props[propDefinition], c.name(o.Table)) {
			before = append(before, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s;\n", c.relationName(k.Table), c.ident(k)))
			after = append(after, "\n"+c.addConstraint(k))
		}
	}
	if !isKey(c.have[o][propDefinition]) {
		before, after = nil, nil
	}
	return strings.Join(before, "") +
		fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s, ADD CONSTRAINT %s %s;", table, c.ident(o), c.ident(o), c.want[o][propDefinition]) +
		strings.Join(after, "")
}

func isKey(definition string) bool {
	return strings.HasPrefix(definition, "PRIMARY KEY") || strings.HasPrefix(definition, "UNIQUE")
}

// refersTo reports whether a definition is a foreign key on a table.
func refersTo(definition, table string) bool {
	return strings.HasPrefix(definition, "FOREIGN KEY") && strings.Contains(definition, " REFERENCES "+table+"(")
}

// enableReferenced enables the triggers on the other side of a foreign key.
func (c *comparison) enableReferenced(o Object) string {
	for _, t := range c.want.of(kindTable, "") {
		if t.Name != o.Table && refersTo(c.want[o][propDefinition], c.name(t.Name)) {
			return fmt.Sprintf("\nALTER TABLE %s ENABLE TRIGGER ALL;", c.name(t.Name))
		}
	}
	return ""
}
