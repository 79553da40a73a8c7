package check

import (
	"errors"

	"github.com/holdfast-dev/holdfast/outbox"
)

// schemaErrors are the differences in an error of the schema.
func schemaErrors(err error) []*outbox.SchemaError {
	var found []*outbox.SchemaError
	switch e := err.(type) {
	case nil:
	case *outbox.SchemaError:
		found = append(found, e)
	case interface{ Unwrap() []error }:
		for _, child := range e.Unwrap() {
			found = append(found, schemaErrors(child)...)
		}
	case interface{ Unwrap() error }:
		found = append(found, schemaErrors(e.Unwrap())...)
	}
	return found
}

// some of the differences: those that a check is about.
func (d *database) differences(about func(*outbox.SchemaError) bool) []*outbox.SchemaError {
	var found []*outbox.SchemaError
	for _, e := range schemaErrors(d.schemaErr) {
		if about(e) {
			found = append(found, e)
		}
	}
	return found
}

// differs makes a finding of the first difference and says how many there are.
func differs(found []*outbox.SchemaError) Finding {
	f := fail(outbox.Hint(found[0]), "%s", line(found[0]))
	if more := len(found) - 1; more > 0 {
		f.Text += ", and " + plural(more, "further difference")
	}
	return f
}

func isDrift(e *outbox.SchemaError) bool   { return e.Object != "" }
func isForeign(e *outbox.SchemaError) bool { return errors.Is(e, outbox.ErrForeignCluster) }

func schemaFinding(f *facts) Finding {
	if err := f.db.refused["schema"]; err != nil {
		return refusedFinding(err)
	}
	recorded := f.db.differences(func(e *outbox.SchemaError) bool { return !isDrift(e) && !isForeign(e) })
	if len(recorded) > 0 {
		return differs(recorded)
	}
	if err := f.db.schemaErr; err != nil && len(schemaErrors(err)) == 0 {
		return fail("", "%s", line(err))
	}
	return ok("schema %s has the migrations of this build", f.t.Relay.Schema)
}

func driftFinding(f *facts) Finding {
	if changed := f.db.differences(isDrift); len(changed) > 0 {
		return differs(changed)
	}
	return ok("schema %s is what its migrations made", f.t.Relay.Schema)
}

func clusterFinding(f *facts) Finding {
	if foreign := f.db.differences(isForeign); len(foreign) > 0 {
		return differs(foreign)
	}
	if err := f.db.copied; err != nil {
		return fail(outbox.Hint(err), "%s", line(err))
	}
	if err := f.db.refused["cluster"]; err != nil {
		return refusedFinding(err)
	}
	return ok("the database is in the cluster that it was installed in")
}
