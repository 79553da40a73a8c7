package outbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// SchemaError is one thing in which a database differs from what this build expects. It
// matches, by errors.Is, [ErrSchemaMissing], [ErrSchemaMismatch] or [ErrForeignCluster].
type SchemaError struct {
	Schema    string // the database schema
	Component canonical.Component
	// Object is what differs in the catalog, such as "column event_outbox.seq"; empty for what
	// the migrations recorded.
	Object string
	// Property of the object, such as "default" or "existence"; without one "version",
	// "checksum", "parameters", "max_event_bytes", "system identifier" or "postgres version".
	Property string
	Found    string // empty when the component is missing
	Expected string
	Mend     string // SQL that mends the object

	kind  error
	newer bool // the database has a later version than this build
}

func (e *SchemaError) Error() string {
	if e.kind == ErrSchemaMissing {
		return fmt.Sprintf("verify schema %s: component %s: %v", e.Schema, e.Component, e.kind)
	}
	what := strings.TrimPrefix(e.Object+": "+e.Property, ": ")
	return fmt.Sprintf("verify schema %s: component %s: %v: %s is %s, expected %s",
		e.Schema, e.Component, e.kind, what, brief(e.Found), brief(e.Expected))
}

// brief makes a line of a value, which may be the source of a function.
func brief(value string) string {
	const most = 120
	line := strings.Join(strings.Fields(value), " ")
	switch runes := []rune(line); {
	case line == "":
		return "not set"
	case len(runes) > most:
		return string(runes[:most]) + "..."
	}
	return line
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
	case e.Object != "" && e.Mend != "" && !strings.Contains(e.Mend, "\n"):
		return "Somebody changed the database. This mends it: " + e.Mend + " `outbox-gen verify` shows every difference."
	case e.Object != "":
		return "Somebody changed the database: `outbox-gen verify` shows every difference with the SQL that mends it."
	case e.Property == "postgres version":
		return "Upgrade Holdfast: this build was made for " + e.Expected + "."
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
// parameters, parameters in which the components differ from one another, the cluster, and
// everything in the catalog that matters, see [catalog.Difference].
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
	found = append(found, s.checkIdentity(order))
	return errors.Join(append(found, s.checkCatalog(order)...)...)
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
