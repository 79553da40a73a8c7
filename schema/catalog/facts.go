package catalog

import (
	"maps"
	"strings"
)

// properties are what is known of one object. Those whose names begin with "~" are not
// compared: mending needs them.
type properties map[string]string

// facts are a catalog, or what is expected of one.
type facts map[Object]properties

// Properties that more than one file reads.
const (
	propDefinition = "definition"
	propKind       = "kind"
	propParent     = "parent"     // of a table: what it is a partition or a child of
	propConstraint = "constraint" // of an index: the constraint that it serves
	propValidity   = "validity"
	propBody       = "body"
	propPublic     = "rights of PUBLIC"
	propGrants     = "~grants"
	propOwner      = "~owner" // of the schema: whose tables these are
	propSeed       = "~seed"  // of a table: the statements that fill it
	propOption     = "option "
	propSetting    = "setting "
	propCheck      = "check " // of a domain: a constraint, by its name

	attached = "attached" // the definition of an index that is part of the parent's
)

func (f facts) add(o Object, property, value string) {
	if f[o] == nil {
		f[o] = properties{}
	}
	f[o][property] = value
}

// has reports whether the object was told.
func (f facts) has(o Object) bool { return len(f[o]) > 0 }

// with returns a copy in which replace was applied to every text, names included.
func (f facts) with(replace func(string) string) facts {
	out := make(facts, len(f))
	for o, props := range f {
		named := Object{Kind: o.Kind, Table: replace(o.Table), Name: replace(o.Name)}
		for property, value := range props {
			out.add(named, property, replace(value))
		}
	}
	return out
}

// of returns the objects of one kind that are part of a table.
func (f facts) of(kind, table string) []Object {
	var found []Object
	for o := range f {
		if o.Kind == kind && o.Table == table {
			found = append(found, o)
		}
	}
	return sorted(found)
}

// parent returns the table that a partition belongs to, or "".
func (f facts) parent(table string) string {
	name, _, _ := strings.Cut(f[Object{Kind: kindTable, Name: table}][propParent], " ")
	return name
}

// partitions returns the names of the partitions of a table.
func (f facts) partitions(table string) []string {
	var names []string
	for _, o := range f.of(kindTable, "") {
		if f.parent(o.Name) == table {
			names = append(names, o.Name)
		}
	}
	return names
}

// inherited returns what a partition has because its parent has it.
func (f facts) inherited(partition string) facts {
	out := facts{}
	parent := f.parent(partition)
	for o, props := range f {
		if o.Table != parent || parent == "" {
			continue
		}
		child := Object{Kind: o.Kind, Table: partition, Name: o.Name}
		switch o.Kind {
		case kindColumn, kindConstraint:
			out[child] = maps.Clone(props)
		case kindIndex:
			out[child] = maps.Clone(props)
			out[child][propDefinition] = attached
		}
	}
	return out
}

// expand adds to every partition what it inherits and does not have otherwise.
func (f facts) expand() {
	for _, table := range f.of(kindTable, "") {
		for o, props := range f.inherited(table.Name) {
			if !f.has(o) {
				f[o] = props
			}
		}
	}
}

// fold takes away from every partition what [facts.expand] would add.
func (f facts) fold() {
	for _, table := range f.of(kindTable, "") {
		for o, props := range f.inherited(table.Name) {
			if maps.Equal(judged(f[o]), judged(props)) {
				delete(f, o)
			}
		}
	}
}

// judged returns the properties that are compared.
func judged(props properties) properties {
	out := maps.Clone(props)
	maps.DeleteFunc(out, func(property, _ string) bool { return !isJudged(property) })
	return out
}

func isJudged(property string) bool { return !strings.HasPrefix(property, "~") }
