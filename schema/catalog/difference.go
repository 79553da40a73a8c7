package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Difference is one thing in which a database differs from the canonical schema.
type Difference struct {
	Object    Object
	Component canonical.Component // whose object it is, or on whose table it hangs
	Property  string              // such as "default"; "existence" for an object as a whole
	Expected  string              // in the server's words; "" for the property's default
	Actual    string
	// Mend is SQL that mends it, one or more statements. They may lock the table, and rewrite it.
	Mend string
	// Matters says that a relay must not work on this database, and a producer should not:
	// an event could be lost, reordered, seen too early, or never found. What does not
	// matter costs speed or space only.
	Matters bool
}

// String says what differs, on one line.
func (d Difference) String() string {
	return fmt.Sprintf("%s: %s is %s, expected %s", d.Object, d.Property, brief(d.Actual), brief(d.Expected))
}

// propExistence is the property of an object as a whole.
const (
	propExistence = "existence"
	missing       = "missing"
	present       = "present"
	unexpected    = "not expected"
)

// brief makes a line of a value.
func brief(value string) string {
	const most = 120
	if value == "" {
		return "not set"
	}
	line := strings.Join(strings.Fields(value), " ")
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return line
}

// harmless are the properties that cost speed or space when they differ, and no more.
var harmless = []string{"storage", "compression", "statistics", "options", "replica identity", "cost", "rows", "support", "parallel"}

// matters reports whether a relay must refuse a difference of this property. The options
// of a view say with whose rights it reads; those of tables and indexes are storage settings.
// Whoever may use a domain can make columns of it, and changes nothing about ours.
func matters(o Object, property string) bool {
	if slices.Contains(harmless, property) || o.Kind == kindDomain && property == propPublic {
		return false
	}
	return !strings.HasPrefix(property, propOption) || o.Kind == kindView
}

// strangerMatters reports whether an object that nobody expects on our tables changes what
// our statements do, and not only how fast.
func strangerMatters(o Object, props properties) bool {
	switch o.Kind {
	case kindColumn: // one that an insert has to compute or to fill
		return props["not null"] != "" || props["default"] != "" || props["generated"] != ""
	case kindIndex: // a plain index on plain columns refuses nothing
		return props["~refuses"] != ""
	case kindPolicy:
		return props["~row security"] != ""
	default:
		return true
	}
}
