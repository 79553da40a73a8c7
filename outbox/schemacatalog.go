package outbox

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// checkCatalog compares what is really there. What a component looks like is known for its
// newest version only, so another one, which is reported already, is not compared.
func (s Schema) checkCatalog(components []canonical.Component) []error {
	var current []canonical.Component
	for _, c := range components {
		if have, installed := s.Component(c); installed && have.Version == canonical.Version(c) {
			current = append(current, c)
		}
	}
	if s.live == nil || len(current) == 0 {
		return nil
	}
	expected, err := catalog.Snapshot(s.live.Major, s.planParams(), current...)
	var unknown *catalog.UnknownMajorError
	if errors.As(err, &unknown) {
		return []error{&SchemaError{Schema: s.Name, Component: canonical.Outbox, Property: "postgres version",
			Found: fmt.Sprint(unknown.Major), Expected: unknown.Supported(), kind: ErrSchemaMismatch}}
	}
	if err != nil {
		return []error{fmt.Errorf("verify schema %s: %w", s.Name, err)}
	}
	var found []error
	for _, d := range catalog.Compare(expected, s.live) {
		if d.Matters && (d.Component == "" || slices.Contains(current, d.Component)) {
			found = append(found, &SchemaError{Schema: s.Name, Component: d.Component, Object: d.Object.String(), Property: d.Property,
				Found: d.Actual, Expected: d.Expected, Mend: d.Mend, kind: ErrSchemaMismatch})
		}
	}
	return found
}
