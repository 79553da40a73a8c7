package check_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/relay/check"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestRightsAreThoseOfTheRole: what the engine wants is what `outbox-gen roles` grants to a relay,
// but for what a person decides.
func TestRightsAreThoseOfTheRole(t *testing.T) {
	t.Parallel()
	granted := map[string][]string{}
	for _, r := range canonical.Rights(canonical.Drainer, canonical.Relay) {
		if r.Kind == "TABLE" && r.Columns == nil {
			granted[r.Name] = append(granted[r.Name], r.Privileges...)
		}
	}
	if diff := cmp.Diff(granted, check.Wanted()); diff != "" {
		t.Errorf("granted and wanted rights differ (-granted +wanted):\n%s", diff)
	}
}
