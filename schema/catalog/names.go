package catalog

import (
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Names are the objects of a schema that rights can be granted on, without the name of the
// database schema, each list in alphabetical order.
type Names struct {
	Domains   []string
	Tables    []string // and views and partitions
	Sequences []string
	Functions []string // with the types of their arguments
}

// NamesOf returns the names of the components and of what they need.
func NamesOf(params canonical.Params, components ...canonical.Component) (Names, error) {
	majors := Majors()
	e, err := Snapshot(majors[len(majors)-1], params, components...)
	if err != nil {
		return Names{}, err
	}
	var names Names
	for _, o := range sorted(e.objects(kindDomain, kindTable, kindView, kindSequence, kindFunction)) {
		switch o.Kind {
		case kindDomain:
			names.Domains = append(names.Domains, o.Name)
		case kindSequence:
			names.Sequences = append(names.Sequences, o.Name)
		case kindFunction:
			names.Functions = append(names.Functions, o.Name)
		default:
			names.Tables = append(names.Tables, o.Name)
		}
	}
	return names, nil
}
