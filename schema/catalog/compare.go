package catalog

import (
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Compare returns every difference of a database from what is expected of it, each once:
// what is missing with its table is told with the table, and what a partition has from
// its parent with the parent. They come in an order in which they can be mended.
func Compare(expected *Expected, live *Live) []Difference {
	c := comparison{want: expected.in(live.Schema), have: live.facts, schema: live.Schema, major: live.Major, components: expected.Components}
	c.ours, _ = known() // reading has reported its error
	var strangers, others []Difference
	for _, o := range sorted(c.objects()) {
		switch {
		case c.toldElsewhere(o):
		case !c.have.has(o):
			others = append(others, c.missing(o))
		case c.want.has(o):
			others = append(others, c.changes(o)...)
		case c.concerns(o):
			strangers = append(strangers, c.stranger(o))
		}
	}
	// What stands in the way goes first, and what uses something before what is used.
	slices.Reverse(strangers)
	return append(strangers, others...)
}

// comparison is the two sides and what describes them.
type comparison struct {
	want, have facts
	schema     string
	major      int
	ours       knowledge
	components []canonical.Component // the expected ones
}

// schemaObject is the database schema.
var schemaObject = Object{Kind: kindSchema, Name: "-"}

// objects returns what either side has.
func (c *comparison) objects() []Object {
	all := map[Object]bool{}
	for o := range c.want {
		all[o] = true
	}
	for o := range c.have {
		all[o] = true
	}
	return slices.Collect(maps.Keys(all))
}

func sorted(objects []Object) []Object {
	slices.SortFunc(objects, compareObjects)
	return objects
}

// holders returns the objects that o is a part of.
func (c *comparison) holders(o Object) []Object {
	schema := schemaObject
	switch {
	case o.Kind == kindSchema:
		return nil
	case o.Table == "":
		if parent := c.want.parent(o.Name); parent != "" && o.Kind == kindTable {
			return []Object{schema, {Kind: kindTable, Name: parent}}
		}
		return []Object{schema}
	}
	holders := []Object{schema, {Kind: kindTable, Name: o.Table}}
	if o.Kind == kindTrigger {
		holders[1] = c.relation(o.Table)
	}
	if parent := c.want.parent(o.Table); parent != "" {
		holders = append(holders, Object{Kind: kindTable, Name: parent})
	}
	switch o.Kind {
	case kindIdentity:
		holders = append(holders, Object{Kind: kindColumn, Table: o.Table, Name: o.Name})
	case kindIndex:
		if name := c.want[o][propConstraint]; name != "" {
			holders = append(holders, Object{Kind: kindConstraint, Table: o.Table, Name: name})
		} else if name := c.have[o][propConstraint]; name != "" {
			holders = append(holders, Object{Kind: kindConstraint, Table: o.Table, Name: name})
		}
	}
	return holders
}

// relation returns the table or the view of a name.
func (c *comparison) relation(name string) Object {
	if view := (Object{Kind: kindView, Name: name}); c.want.has(view) || c.have.has(view) {
		return view
	}
	return Object{Kind: kindTable, Name: name}
}

// toldElsewhere reports whether what is wrong with o is wrong with something that it is a
// part of, and mended there.
func (c *comparison) toldElsewhere(o Object) bool {
	for _, holder := range c.holders(o) {
		if c.broken(holder) {
			return true
		}
	}
	if c.namesake(o) {
		return true
	}
	if o.Kind == kindIdentity && c.differs(Object{Kind: kindColumn, Table: o.Table, Name: o.Name}, "type", "identity") {
		return true
	}
	parent := c.want.parent(o.Table)
	if o.Table == "" || parent == "" {
		return false
	}
	above := Object{Kind: o.Kind, Table: parent, Name: o.Name}
	if c.broken(above) {
		return true
	}
	return o.Kind == kindIndex && c.differs(above, propValidity)
}

// namesake reports whether o is the stranger that something missing has become.
func (c *comparison) namesake(o Object) bool {
	if c.want.has(o) {
		return false
	}
	for _, lost := range c.want.of(o.Kind, o.Table) {
		if !c.have.has(lost) {
			if other, is := c.renamed(lost); is && other == o {
				return true
			}
		}
	}
	return false
}

// differs reports whether one of the properties does.
func (c *comparison) differs(o Object, properties ...string) bool {
	return slices.ContainsFunc(properties, func(p string) bool { return c.want[o][p] != c.have[o][p] })
}

// broken reports whether o is missing, is somebody else's, or is so different that its parts
// cannot be compared.
func (c *comparison) broken(o Object) bool {
	switch {
	case c.want.has(o) != c.have.has(o):
		return true
	case o.Kind == kindTable:
		return c.differs(o, propKind, propParent)
	case o.Kind == kindConstraint:
		return c.want[o][propDefinition] != c.have[o][propDefinition] && !c.onlyUnvalidated(o)
	}
	return false
}

// concerns reports whether something that is not expected changes what is: it hangs on an
// expected table or bears the name of an expected function.
func (c *comparison) concerns(o Object) bool {
	if c.ours.facts.has(o) && !slices.Contains(c.components, c.component(o)) {
		return false // ours, of a component that nobody asked about
	}
	switch {
	case o.Table != "":
		return c.want.has(c.relation(o.Table))
	case o.Kind == kindFunction:
		return slices.ContainsFunc(c.want.of(kindFunction, ""), func(ours Object) bool {
			return functionName(ours.Name) == functionName(o.Name)
		})
	case o.Kind == kindTable:
		parent := c.have.parent(o.Name)
		return parent != "" && c.want.has(Object{Kind: kindTable, Name: parent})
	}
	return false
}

func (c *comparison) missing(o Object) Difference {
	d := Difference{Object: o, Component: c.component(o), Property: propExistence, Expected: present, Actual: missing, Matters: true}
	if other, is := c.renamed(o); is {
		d.Actual, d.Mend = "named "+other.Name, c.rename(other, o)
	} else {
		d.Mend = c.mendMissing(o)
	}
	return d
}

// renamed returns the stranger that a missing column or partition is, under another name:
// making a new one, and removing that, would lose what is in it.
func (c *comparison) renamed(o Object) (Object, bool) {
	if o.Kind != kindColumn && (o.Kind != kindTable || c.want.parent(o.Name) == "") {
		return Object{}, false
	}
	var same []Object
	for _, other := range c.have.of(o.Kind, o.Table) {
		if !c.want.has(other) && alike(o.Kind, c.want[o], c.have[other]) {
			same = append(same, other)
		}
	}
	if len(same) != 1 {
		return Object{}, false
	}
	return same[0], true
}

// alike reports whether two objects can be one under two names.
func alike(kind string, a, b properties) bool {
	if kind == kindTable {
		return a[propParent] == b[propParent]
	}
	return maps.Equal(judged(a), judged(b))
}

func (c *comparison) stranger(o Object) Difference {
	actual := c.have[o][propDefinition]
	if o.Kind == kindTable {
		actual = c.have[o][propParent]
	}
	if actual == "" {
		actual = present
	}
	return Difference{
		Object: o, Component: c.component(o), Property: propExistence, Expected: unexpected, Actual: actual,
		Mend: c.mendStranger(o), Matters: strangerMatters(o, c.have[o]),
	}
}

// changes compares the properties of an object that both sides have.
func (c *comparison) changes(o Object) []Difference {
	want, have := c.want[o], c.have[o]
	either := maps.Clone(want)
	maps.Copy(either, have)
	var found []Difference
	for _, property := range slices.Sorted(maps.Keys(either)) {
		if !isJudged(property) || want[property] == have[property] || c.follows(o, property) {
			continue
		}
		d := Difference{
			Object: o, Component: c.component(o), Property: property, Expected: want[property], Actual: have[property],
			Matters: matters(o, property),
		}
		d.Mend = c.mendChange(o, property)
		if property == propDefinition && c.onlyUnvalidated(o) {
			d.Property, d.Expected, d.Actual = "validation", "validated", "not validated"
		}
		found = append(found, d)
	}
	return found
}

// follows reports whether a property differs because another one does: the one of the
// parent of a partition, the kind of a relation, the type of a domain or of a sequence.
func (c *comparison) follows(o Object, property string) bool {
	switch {
	case property != propKind && c.differs(o, propKind):
		return true
	case o.Kind == kindDomain && property != propPublic:
		return property != "type" && c.differs(o, "type")
	case o.Kind == kindSequence || o.Kind == kindIdentity:
		return (property == "maximum" || property == "minimum") && c.differs(o, "type")
	}
	parent := c.want.parent(o.Table)
	if o.Table == "" || parent == "" {
		return false
	}
	above := Object{Kind: o.Kind, Table: parent, Name: o.Name}
	return c.want[above][property] == c.want[o][property] && c.have[above][property] == c.have[o][property]
}

// notValid is how the server marks a constraint that old rows may break.
const notValid = " NOT VALID"

func (c *comparison) onlyUnvalidated(o Object) bool {
	return o.Kind == kindConstraint && c.have[o][propDefinition] == c.want[o][propDefinition]+notValid
}

// component returns whose object o is, or on whose table it hangs; "" when nobody's.
func (c *comparison) component(o Object) canonical.Component {
	for _, name := range []string{o.Table, functionName(o.Name), c.have.parent(o.Name)} {
		if owner, has := c.ours.owner[name]; has {
			return owner
		}
	}
	return ""
}
