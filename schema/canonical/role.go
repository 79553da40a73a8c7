package canonical

import (
	"fmt"
	"slices"
)

// Role is a kind of database role with the least rights for its work. A login gets the
// rights of one or several by membership: a service that decides about its holds itself is
// a producer and an operator.
type Role string

// The roles. All of them may read which schema is installed.
const (
	Producer    Role = "producer"    // stages events; cannot read one, nor change one that is staged
	Drainer     Role = "relay"       // reads events and keeps the relay's state; cannot change or delete an event
	Operator    Role = "operator"    // decides about holds and dead letters; sees no payload
	Maintainer  Role = "maintainer"  // looks after retention; sees no payload
	Claimer     Role = "consumer"    // claims facts and keeps a consumer's state; removes no fact
	Coordinator Role = "coordinator" // claims, runs and reconciles operations; decides nothing about holds
	Auditor     Role = "auditor"     // reads what happened; sees no payload and changes nothing
)

// Roles returns all roles.
func Roles() []Role {
	return []Role{Producer, Drainer, Operator, Maintainer, Auditor, Claimer, Coordinator}
}

// ParseRole returns the role of that name. The error lists the names.
func ParseRole(name string) (Role, error) {
	if slices.Contains(Roles(), Role(name)) {
		return Role(name), nil
	}
	return "", fmt.Errorf("unknown role %q: the roles are %v", name, Roles())
}

// Right is what a role may do with one object of the schema.
type Right struct {
	Component  Component
	Kind       string   // SCHEMA, TABLE, SEQUENCE or FUNCTION; a view is a TABLE
	Name       string   // of the object; empty for the schema. No function has a second one of its name
	Privileges []string // SELECT, INSERT, EXECUTE and so on
	Columns    []string // to which the privileges are limited; nil for all
}

// same reports whether other is this right. Components that share an object both list it.
func (r Right) same(other Right) bool {
	return r.Kind == other.Kind && r.Name == other.Name &&
		slices.Equal(r.Privileges, other.Privileges) && slices.Equal(r.Columns, other.Columns)
}

// Rights returns what a role may do with the components and with what they need. Nobody has
// any other right, and PUBLIC has none.
func Rights(role Role, components ...Component) []Right {
	wanted := slices.Clone(components)
	for _, c := range components {
		wanted = append(wanted, c.Needs()...)
	}
	var found []Right
	for _, r := range rights {
		if slices.Contains(r.roles, role) && slices.Contains(wanted, r.Component) && !slices.ContainsFunc(found, r.same) {
			found = append(found, r.Right)
		}
	}
	return found
}
