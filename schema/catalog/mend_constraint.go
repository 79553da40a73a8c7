package catalog

import (
	"fmt"
	"regexp"
	"slices"
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
		// Both sides of a foreign key have triggers.
		return fmt.Sprintf("ALTER TABLE %s ENABLE TRIGGER ALL;\nALTER TABLE %s ENABLE TRIGGER ALL;", table, c.name(c.references(o)))
	}
	if c.onlyUnvalidated(o) {
		return fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s;", table, c.ident(o))
	}
	change := fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s, ADD CONSTRAINT %s %s;", table, c.ident(o), c.ident(o), c.want[o][propDefinition])
	if !isKey(c.have[o][propDefinition]) {
		return change
	}
	// A key that others refer to cannot be dropped before them.
	var before, after []string
	for _, other := range c.want.of(kindTable, "") {
		for _, k := range c.want.of(kindConstraint, other.Name) {
			if c.references(k) == o.Table && c.have.has(k) {
				before = append(before, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s;", c.name(other.Name), k.Name))
				after = append(after, c.addConstraint(k))
			}
		}
	}
	return strings.Join(slices.Concat(before, []string{change}, after), "\n")
}

func isKey(definition string) bool {
	return strings.HasPrefix(definition, "PRIMARY KEY") || strings.HasPrefix(definition, "UNIQUE")
}

var referenced = regexp.MustCompile(`^FOREIGN KEY .* REFERENCES [^ .(]+\.([a-z0-9_]+)\(`)

// references returns the table that a foreign key of ours refers to, "" for another constraint.
func (c *comparison) references(o Object) string {
	match := referenced.FindStringSubmatch(c.want[o][propDefinition])
	if match == nil {
		return ""
	}
	return match[1]
}
