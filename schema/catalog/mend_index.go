package catalog

import (
	"fmt"
	"strings"
)

// indexName returns the name that an index really has; that of a partition's is not
// ours to choose.
func (c *comparison) indexName(o Object) string {
	if name := c.have[o]["~name"]; name != "" {
		return quote(name)
	}
	return c.ident(o)
}

// createIndex makes an index, on all partitions; or the part that one partition lacks.
func (c *comparison) createIndex(o Object) string {
	definition := c.want[o][propDefinition]
	if definition != attached {
		return strings.Replace(definition, " ON ONLY ", " ON ", 1) + ";"
	}
	parent := c.want.parent(o.Table)
	above := c.want[Object{Kind: kindIndex, Table: parent, Name: o.Name}][propDefinition]
	name := o.Table + "_" + strings.TrimPrefix(o.Name, parent+"_")
	sql := strings.Replace(above, " ON ONLY ", " ON ", 1)
	sql = strings.Replace(sql, " "+o.Name+" ON ", " "+name+" ON ", 1)
	sql = strings.Replace(sql, " ON "+c.name(parent)+" ", " ON "+c.name(o.Table)+" ", 1)
	return fmt.Sprintf("%s;\nALTER INDEX %s ATTACH PARTITION %s;", sql, c.name(o.Name), c.name(name))
}

// changeIndex makes an index what it should be.
func (c *comparison) changeIndex(o Object, property string) string {
	name := c.name(c.indexName(o))
	plain := c.have[o][propConstraint] == ""
	partitioned := strings.Contains(c.want[o][propDefinition], " ON ONLY ")
	switch {
	case property == propValidity && !partitioned:
		return fmt.Sprintf("REINDEX INDEX %s;", name)
	case plain:
		return fmt.Sprintf("DROP INDEX %s;\n%s", name, c.createIndex(o))
	}
	constraint := Object{Kind: kindConstraint, Table: o.Table, Name: c.want[o][propConstraint]}
	return c.changeConstraint(constraint, propDefinition)
}
