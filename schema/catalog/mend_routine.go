package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// createFunction writes a function from what is expected of it.
func (c *comparison) createFunction(o Object) string {
	p := c.want[o]
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE OR REPLACE FUNCTION %s(%s) RETURNS %s\nLANGUAGE %s %s",
		c.name(functionName(o.Name)), p["arguments"], p["result"], p["language"], p["volatility"])
	for _, clause := range [][2]string{{"strict", "STRICT"}, {"leakproof", "LEAKPROOF"}} {
		if p[clause[0]] != "" {
			b.WriteString(" " + clause[1])
		}
	}
	fmt.Fprintf(&b, " SECURITY %s PARALLEL %s", p["security"], p["parallel"])
	for _, clause := range [][2]string{{"cost", "COST"}, {"rows", "ROWS"}, {"support", "SUPPORT"}} {
		if value := p[clause[0]]; value != "" {
			b.WriteString(" " + clause[1] + " " + value)
		}
	}
	var settings []string
	for property, value := range p {
		if name, is := strings.CutPrefix(property, propSetting); is {
			if name != "search_path" { // a list, which is stored as it must be written
				value = literal(value)
			}
			settings = append(settings, fmt.Sprintf("\nSET %s = %s", name, value))
		}
	}
	slices.Sort(settings)
	b.WriteString(strings.Join(settings, ""))
	fmt.Fprintf(&b, "\nAS %s%s%s;", dollars(p[propBody]), p[propBody], dollars(p[propBody]))
	return b.String()
}

// dollars returns dollar quotes that do not occur in a body.
func dollars(body string) string {
	tag := "$$"
	for strings.Contains(body, tag) {
		tag = "$" + strings.Trim(tag, "$") + "x$"
	}
	return tag
}

// changeFunction replaces a function. What tells callers its shape cannot be replaced, and
// needs a new function, which nobody has rights on.
func (c *comparison) changeFunction(o Object, property string) string {
	create := c.createFunction(o)
	switch {
	case property == "owner":
		return fmt.Sprintf("ALTER FUNCTION %s OWNER TO %s;", c.name(o.Name), c.have[schemaObject][propOwner])
	case c.differs(o, "arguments", "result", propKind):
		kind := strings.ToUpper(c.have[o][propKind])
		return fmt.Sprintf("DROP %s %s;\n%s\n%s%s", kind, c.name(o.Name), create, c.revokePublic(o), c.regrant(o))
	}
	return create
}

func (c *comparison) createView(o Object) string {
	return fmt.Sprintf("CREATE VIEW %s%s AS\n%s", c.name(o.Name), c.with(o), c.want[o][propDefinition])
}

func (c *comparison) changeView(o Object, property string) string {
	if property == "owner" {
		return fmt.Sprintf("ALTER VIEW %s OWNER TO %s;", c.name(o.Name), c.have[schemaObject][propOwner])
	}
	return fmt.Sprintf("DROP VIEW %s;\n%s%s", c.name(o.Name), c.createView(o), c.regrant(o))
}

func (c *comparison) changeTrigger(o Object, property string) string {
	table := c.relationName(o.Table)
	if property == "enabled" {
		return fmt.Sprintf("ALTER TABLE %s ENABLE TRIGGER %s;", table, c.ident(o))
	}
	return fmt.Sprintf("DROP TRIGGER %s ON %s;\n%s;", c.ident(o), table, c.want[o][propDefinition])
}
