package outbox

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// SchemaError is one thing in which a database differs from what this build expects. It
// matches, by errors.Is, [ErrSchemaMissing], [ErrSchemaMismatch] or [ErrForeignCluster].
type SchemaError struct {
	Schema    string // the database schema
	Component canonical.Component
	Property  string // "version", "checksum", "parameters", "max_event_bytes" or "system identifier"
	Found     string // empty when the component is missing
	Expected  string

	kind  error
	newer bool // the database has a later version than this build
}

func (e *SchemaError) Error() string {
	if e.kind == ErrSchemaMissing {
		return fmt.Sprintf("verify schema %s: component %s: %v", e.Schema, e.Component, e.kind)
	}
	return fmt.Sprintf("verify schema %s: component %s: %v: %s is %s, expected %s",
		e.Schema, e.Component, e.kind, e.Property, e.Found, e.Expected)
}

// Is reports whether target is the sentinel of this kind of difference.
func (e *SchemaError) Is(target error) bool { return target == e.kind }

// Hint says what a person can do.
func (e *SchemaError) Hint() string {
	switch {
	case e.kind == ErrSchemaMissing:
		return fmt.Sprintf("Write the migrations of the component %s with `outbox-gen write`, and run them; in a test, gen.Install.", e.Component)
	case e.kind == ErrForeignCluster:
		return "After a restore from a dump, logical replication or a blue/green switch run `relay rebase`. A physical failover never comes here."
	case e.Property == "version" && e.newer:
		return "The database was migrated for a newer build: upgrade this one."
	case e.Property == "version":
		return "Write the missing migrations with `outbox-gen write`, and run them."
	case e.Property == "max_event_bytes":
		return "Set Config.MaxEventBytes to what the schema was rendered with."
	default:
		return "The files were edited, or rendered with other parameters: `outbox-gen verify` shows every difference."
	}
}

// Check compares the schema with what this build expects of the components and of those
// that they need; with no components, of outbox. It reports every difference, joined, as
// [*SchemaError]: the version, the checksum of the SQL rendered with the recorded
// parameters, parameters in which the components differ from one another, and the cluster.
func (s Schema) Check(components ...canonical.Component) error {
	if len(components) == 0 {
		components = []canonical.Component{canonical.Outbox}
	}
	plan, err := canonical.Plan(s.planParams(), components...)
	if err != nil {
		return fmt.Errorf("verify schema %s: %w", s.Name, err)
	}
	newest := map[canonical.Component]canonical.Rendered{}
	var order []canonical.Component
	for _, file := range plan { // in ascending versions
		if !slices.Contains(order, file.Component) {
			order = append(order, file.Component)
		}
		newest[file.Component] = file
	}
	var found []error
	for _, c := range order {
		found = append(found, s.check(newest[c]))
	}
	return errors.Join(append(found, s.checkIdentity(order))...)
}

// planParams are the recorded ones in the schema that was asked for. The defaults stand
// in when the component outbox is missing, which is reported.
func (s Schema) planParams() canonical.Params {
	p := s.Params
	p.Schema = s.Name
	return p
}

// check compares one component.
func (s Schema) check(file canonical.Rendered) error {
	differs := func(property, found, expected string) *SchemaError {
		return &SchemaError{Schema: s.Name, Component: file.Component, Property: property, Found: found, Expected: expected, kind: ErrSchemaMismatch}
	}
	have, installed := s.Component(file.Component)
	if !installed {
		missing := differs("version", "", versionText(file.Component))
		missing.kind = ErrSchemaMissing
		return missing
	}
	if have.Version != file.Version {
		e := differs("version", fmt.Sprint(have.Version), fmt.Sprint(file.Version))
		e.newer = have.Version > file.Version
		return e
	}
	if want := s.planParams().JSON(); have.Params.JSON() != want {
		return differs("parameters", have.Params.JSON(), want)
	}
	if have.Checksum != file.Checksum {
		return differs("checksum", shorten(have.Checksum), shorten(file.Checksum))
	}
	return nil
}

// checkIdentity reports once that the cluster is another one.
func (s Schema) checkIdentity(components []canonical.Component) error {
	for _, c := range components {
		if have, installed := s.Component(c); installed && have.Identity != s.Identity {
			return &SchemaError{Schema: s.Name, Component: c, Property: "system identifier",
				Found: fmt.Sprint(s.Identity), Expected: fmt.Sprint(have.Identity), kind: ErrForeignCluster}
		}
	}
	return nil
}

func versionText(c canonical.Component) string { return fmt.Sprint(canonical.Version(c)) }
