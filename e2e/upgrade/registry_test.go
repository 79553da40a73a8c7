package upgrade_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// versions of each component.
type versions map[canonical.Component]int

// upgrade is one that is tested.
type upgrade struct {
	name     string
	from, to release
	old      versions // that from installs
	// made up says that to is not this tree, so that it stands for no real upgrade.
	madeUp bool
}

// this is the tree as it is.
var this = release{name: "this"}

// upgrades are all that are tested. One to this tree is needed from every earlier version of
// every component; one may stand for several components.
var upgrades = []upgrade{
	{
		name: "a version that does not exist", from: this, to: release{name: "next"}, madeUp: true,
		old: versions{canonical.Outbox: 1, canonical.Hold: 1, canonical.Relay: 1, canonical.Consumer: 1, canonical.Saga: 1},
	},
}

// missing lists the earlier versions of each component that nothing upgrades from.
func missing(newest versions, tested []upgrade) []string {
	var found []string
	for component, version := range newest {
		for earlier := 1; earlier < version; earlier++ {
			covers := func(u upgrade) bool { return !u.madeUp && u.old[component] == earlier }
			if !slices.ContainsFunc(tested, covers) {
				found = append(found, fmt.Sprintf("%s from version %d to %d", component, earlier, version))
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestEveryVersionHasAnUpgrade is the gate: a version cannot be added without a test that
// upgrades a database with data from every earlier one.
func TestEveryVersionHasAnUpgrade(t *testing.T) {
	t.Parallel()
	newest := versions{}
	for _, component := range canonical.Components() {
		newest[component] = canonical.Version(component)
	}
	for _, gap := range missing(newest, upgrades) {
		t.Errorf("no test upgrades component %s: add the release before it to testdata, and a line to upgrades; see docs/schema-changes.md", gap)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	newest := versions{canonical.Outbox: 3, canonical.Hold: 1, canonical.Relay: 2}
	first := upgrade{old: versions{canonical.Outbox: 1, canonical.Relay: 1}}
	second := upgrade{old: versions{canonical.Outbox: 2, canonical.Relay: 2}}
	unreal := second
	unreal.madeUp = true
	for _, c := range []struct {
		tested []upgrade
		want   []string
	}{
		{nil, []string{"outbox from version 1 to 3", "outbox from version 2 to 3", "relay from version 1 to 2"}},
		{[]upgrade{first, unreal}, []string{"outbox from version 2 to 3"}},
		{[]upgrade{first, second}, nil},
	} {
		if diff := cmp.Diff(c.want, missing(newest, c.tested)); diff != "" {
			t.Errorf("missing (-want +got):\n%s", diff)
		}
	}
}
