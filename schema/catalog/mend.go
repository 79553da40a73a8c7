package catalog

import (
	"fmt"
	"strings"
)

// Mends are written from the expected facts, in the server's own words. Each ends with a
// semicolon; several stand on lines of their own.

// name returns the qualified name of a relation or a function of ours.
func (c *comparison) name(name string) string { return c.schema + "." + name }

// relationName returns a name as it stands in SQL. Ours need no quotes; what somebody
// else made may, and comes qualified when it is in another database schema.
func (c *comparison) relationName(name string) string {
	if c.ours.facts.has(Object{Kind: kindTable, Name: name}) {
		return c.name(name)
	}
	if strings.Contains(name, ".") {
		return name
	}
	return c.name(quote(name))
}

// ident writes the name of something on a table. Ours need no quotes.
func (c *comparison) ident(o Object) string {
	if c.ours.facts.has(o) {
		return o.Name
	}
	return quote(o.Name)
}

// quote writes an identifier that need not be a plain one.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal writes a text constant.
func literal(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// mendMissing makes an object that is not there.
func (c *comparison) mendMissing(o Object) string {
	want := c.want[o]
	switch o.Kind {
	case kindSchema:
		return "-- Run the migrations of this service: nothing is installed."
	case kindDomain:
		return c.createDomain(o)
	case kindSequence:
		return c.createSequence(o)
	case kindTable:
		return c.createTable(o)
	case kindColumn:
		return c.addColumn(o)
	case kindIdentity:
		return c.mendChange(Object{Kind: kindColumn, Table: o.Table, Name: o.Name}, "identity")
	case kindConstraint:
		return c.addConstraint(o)
	case kindIndex:
		return c.createIndex(o)
	case kindFunction:
		return c.createFunction(o) + "\n" + c.revokePublic(o)
	case kindView:
		return c.createView(o)
	case kindTrigger:
		return want[propDefinition] + ";"
	}
	return ""
}

// mendStranger removes an object that nobody expects.
func (c *comparison) mendStranger(o Object) string {
	table := c.relationName(o.Table)
	switch o.Kind {
	case kindTable:
		parent := c.name(c.have.parent(o.Name))
		if strings.Contains(c.have[o][propParent], " ") { // it has bounds
			return fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s;", parent, c.relationName(o.Name))
		}
		return fmt.Sprintf("ALTER TABLE %s NO INHERIT %s;", c.relationName(o.Name), parent)
	case kindColumn:
		return fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s; -- with what is in it", table, quote(o.Name))
	case kindConstraint:
		return fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s;", table, quote(o.Name))
	case kindReference:
		return fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s;", c.have[o]["~table"], c.have[o]["~name"])
	case kindIndex:
		return fmt.Sprintf("DROP INDEX %s;", c.name(quote(o.Name)))
	case kindFunction:
		return fmt.Sprintf("DROP %s %s;", strings.ToUpper(c.have[o]["kind"]), c.name(o.Name))
	case kindTrigger:
		return fmt.Sprintf("DROP TRIGGER %s ON %s;", quote(o.Name), table)
	case kindRule:
		return fmt.Sprintf("DROP RULE %s ON %s;", quote(o.Name), table)
	case kindPolicy:
		return fmt.Sprintf("DROP POLICY %s ON %s;", quote(o.Name), table)
	}
	return ""
}

// mendChange gives an object the expected value of one property.
func (c *comparison) mendChange(o Object, property string) string {
	if property == propPublic {
		return c.revokePublic(o)
	}
	if option, is := strings.CutPrefix(property, propOption); is {
		return c.setOption(o, option)
	}
	switch o.Kind {
	case kindDomain:
		return c.changeDomain(o, property)
	case kindSequence, kindIdentity:
		return c.changeSequence(o, property)
	case kindTable:
		return c.changeTable(o, property)
	case kindColumn:
		return c.changeColumn(o, property)
	case kindConstraint:
		return c.changeConstraint(o, property)
	case kindIndex:
		return c.changeIndex(o, property)
	case kindFunction:
		return c.changeFunction(o, property)
	case kindView:
		return c.changeView(o, property)
	case kindTrigger:
		return c.changeTrigger(o, property)
	}
	return ""
}

// revokePublic takes from everybody what nobody gave on purpose.
func (c *comparison) revokePublic(o Object) string {
	if o.Kind == kindSchema {
		return fmt.Sprintf("REVOKE CREATE ON SCHEMA %s FROM PUBLIC;", c.schema)
	}
	kind := "TABLE" // a view too
	switch o.Kind {
	case kindFunction:
		kind = "FUNCTION"
	case kindSequence:
		kind = "SEQUENCE"
	case kindDomain:
		kind = "DOMAIN"
	}
	return fmt.Sprintf("REVOKE ALL ON %s %s FROM PUBLIC;", kind, c.name(o.Name))
}

// regrant gives the rights on an object back to those who had them before it was made anew.
func (c *comparison) regrant(o Object) string {
	kind := "TABLE"
	switch o.Kind {
	case kindFunction:
		kind = "FUNCTION"
	case kindDomain:
		kind = "DOMAIN"
	}
	var b strings.Builder
	for line := range strings.Lines(c.have[o][propGrants]) {
		if privilege, grantee, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " TO "); ok {
			fmt.Fprintf(&b, "\nGRANT %s ON %s %s TO %s;", privilege, kind, c.name(o.Name), grantee)
		}
	}
	return b.String()
}

// rename gives a column or a partition its name back.
func (c *comparison) rename(from, to Object) string {
	if from.Kind == kindColumn {
		return fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s;", c.relationName(to.Table), quote(from.Name), to.Name)
	}
	return fmt.Sprintf("ALTER TABLE %s RENAME TO %s;", c.relationName(from.Name), to.Name)
}

// setOption sets or resets a storage setting.
func (c *comparison) setOption(o Object, option string) string {
	command := "ALTER TABLE " + c.relationName(o.Table)
	switch o.Kind {
	case kindTable:
		command = "ALTER TABLE " + c.name(o.Name)
	case kindView:
		command = "ALTER VIEW " + c.name(o.Name)
	case kindIndex:
		command = "ALTER INDEX " + c.name(c.indexName(o))
	}
	if value, has := c.want[o][propOption+option]; has {
		return fmt.Sprintf("%s SET (%s = %s);", command, option, value)
	}
	return fmt.Sprintf("%s RESET (%s);", command, option)
}
