package catalog

import (
	"sync"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// maxSlots is how many retention slots a schema can have.
const maxSlots = 32

// knowledge is everything that a canonical schema may have, of any components and
// parameters. It says which names in a database are ours.
type knowledge struct {
	facts facts
	owner map[string]canonical.Component // by the name of a relation, a function or a domain
}

var known = sync.OnceValues(func() (knowledge, error) {
	k := knowledge{facts: facts{}, owner: map[string]canonical.Component{}}
	majors := Majors()
	if len(majors) == 0 {
		return k, nil
	}
	for _, c := range canonical.Components() {
		e, err := Snapshot(majors[len(majors)-1], canonical.Params{Slots: maxSlots}, c)
		if err != nil {
			return k, err
		}
		for o, props := range e.facts {
			name := o.Table
			if name == "" {
				name = functionName(o.Name)
			}
			if _, has := k.owner[name]; !has {
				k.owner[name] = c
			}
			k.facts[o] = props
		}
	}
	return k, nil
})
