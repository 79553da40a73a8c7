package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// createDomain makes a domain with its constraints. Nobody has rights on it.
func (c *comparison) createDomain(o Object) string {
	p := c.want[o]
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE DOMAIN %s AS %s", c.name(o.Name), p["type"])
	if p["collation"] != "" {
		b.WriteString(" COLLATE " + p["collation"])
	}
	if p["default"] != "" {
		b.WriteString(" DEFAULT " + p["default"])
	}
	if p["not null"] != "" {
		b.WriteString(" NOT NULL")
	}
	for _, name := range domainChecks(p) {
		fmt.Fprintf(&b, " CONSTRAINT %s %s", name, p[propCheck+name])
	}
	return b.String() + ";\n" + c.revokePublic(o)
}

// domainChecks returns the names of the constraints of a domain.
func domainChecks(p properties) []string {
	var found []string
	for property := range p {
		if name, is := strings.CutPrefix(property, propCheck); is {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// changeDomain gives a domain the expected value of one property.
func (c *comparison) changeDomain(o Object, property string) string {
	want, have := c.want[o][property], c.have[o][property]
	alter := "ALTER DOMAIN " + c.name(o.Name)
	switch {
	case property == "type" || property == "collation":
		return c.rebuildDomain(o)
	case property == "default" && want != "":
		return fmt.Sprintf("%s SET DEFAULT %s;", alter, want)
	case property == "default":
		return alter + " DROP DEFAULT;"
	case property == "not null" && want != "":
		return alter + " SET NOT NULL;"
	case property == "not null":
		return alter + " DROP NOT NULL;"
	}
	name := strings.TrimPrefix(property, propCheck)
	if want == "" {
		return fmt.Sprintf("%s DROP CONSTRAINT %s;", alter, quote(name))
	}
	// The server looks at the columns of a domain when a constraint is added or validated. Where
	// a CHECK casts to it, that has to look again.
	sql := []string{fmt.Sprintf("%s ADD CONSTRAINT %s %s;", alter, name, want)}
	switch have {
	case "":
	case want + notValid:
		sql = []string{fmt.Sprintf("%s VALIDATE CONSTRAINT %s;", alter, name)}
	default:
		sql = slices.Insert(sql, 0, fmt.Sprintf("%s DROP CONSTRAINT %s;", alter, name))
	}
	for _, k := range c.casts(o, c.want) {
		if c.have.has(k) {
			sql = append(sql, c.changeConstraint(k, propDefinition))
		}
	}
	return strings.Join(sql, "\n")
}

// rebuildDomain drops a domain and makes it anew. Constraints that cast to it step aside, and
// columns of it have the plain type for as long.
func (c *comparison) rebuildDomain(o Object) string {
	var before, after []string
	for _, k := range c.casts(o, c.have) {
		before = append(before, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s;", c.relationName(k.Table), c.ident(k)))
		if c.want.has(k) {
			after = append(after, c.addConstraint(k))
		}
	}
	for _, column := range c.columnsOf(o) {
		alter := fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE ", c.relationName(column.Table), c.ident(column))
		before = append(before, alter+c.have[o]["type"]+";")
		after = append(after, alter+fmt.Sprintf("%s USING %s::%s;", c.name(o.Name), c.ident(column), c.want[o]["type"]))
	}
	anew := []string{fmt.Sprintf("DROP DOMAIN %s;", c.name(o.Name)), c.createDomain(o) + c.regrant(o)}
	return strings.Join(slices.Concat(before, anew, after), "\n")
}

// casts returns the constraints that cast to a domain. What a partition has from its parent
// is the parent's.
func (c *comparison) casts(domain Object, in facts) []Object {
	uses := regexp.MustCompile(`::` + regexp.QuoteMeta(c.name(domain.Name)) + `\b`)
	var found []Object
	for o, props := range in {
		if o.Kind == kindConstraint && c.want.parent(o.Table) == "" && uses.MatchString(props[propDefinition]) {
			found = append(found, o)
		}
	}
	return sorted(found)
}

// columnsOf returns the columns of a domain, those of partitions with their parent.
func (c *comparison) columnsOf(domain Object) []Object {
	var found []Object
	for o, props := range c.have {
		if o.Kind == kindColumn && c.want.parent(o.Table) == "" && props["type"] == c.name(domain.Name) {
			found = append(found, o)
		}
	}
	return sorted(found)
}
