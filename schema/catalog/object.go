package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// Object names something in a catalog: a kind, the table that it is part of, and its name.
type Object struct {
	Kind  string // "table", "column", "constraint", "index", "function" and so on
	Table string // without the database schema; empty for what is not part of a table
	Name  string // for a function with the types of its arguments
}

// String returns the object as people name it, such as "column event_outbox.seq".
func (o Object) String() string {
	switch {
	case o.Kind == kindSchema:
		return o.Kind
	case o.Table != "":
		return o.Kind + " " + o.Table + "." + o.Name
	default:
		return o.Kind + " " + o.Name
	}
}

// The kinds, in the order in which they are reported and mended: what is needed comes first.
const (
	kindSchema     = "schema"
	kindDomain     = "domain" // with its constraints
	kindSequence   = "sequence"
	kindTable      = "table"
	kindColumn     = "column"
	kindIdentity   = "identity" // the sequence behind an identity column
	kindConstraint = "constraint"
	kindReference  = "reference" // a foreign key of a strange table on ours
	kindIndex      = "index"
	kindFunction   = "function"
	kindView       = "view"
	kindTrigger    = "trigger"
	kindRule       = "rule"
	kindPolicy     = "policy"
	kindRole       = "role"
	kindGrant      = "grant"
)

var kinds = []string{
	kindSchema, kindDomain, kindSequence, kindTable, kindColumn, kindIdentity, kindConstraint, kindReference, kindIndex,
	kindFunction, kindView, kindTrigger, kindRule, kindPolicy, kindRole, kindGrant,
}

func compareObjects(a, b Object) int {
	return cmp.Or(
		cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
		cmp.Compare(a.Table, b.Table),
		cmp.Compare(a.Name, b.Name),
	)
}

// key is how an object is written in a snapshot; "-" stands for no table.
func (o Object) key() string { return o.Kind + " " + cmp.Or(o.Table, "-") + " " + o.Name }

// parseKey reads what key wrote. The names of our tables have no spaces.
func parseKey(key string) (Object, bool) {
	parts := strings.SplitN(key, " ", 3)
	if len(parts) != 3 || !slices.Contains(kinds, parts[0]) {
		return Object{}, false
	}
	return newObject(parts[0], parts[1], parts[2]), true
}

func newObject(kind, table, name string) Object {
	if table == "-" {
		table = ""
	}
	return Object{Kind: kind, Table: table, Name: name}
}
