package pods_test

import (
	"embed"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/overlay"
)

//go:embed points/*.point
var pointFiles embed.FS

//go:embed testdata/clock.go.txt
var clockSource string

// points are the places in the relay to die at.
func points() ([]overlay.Point, error) { return overlay.Points(pointFiles, "points") }

// plant returns the files of a relay that has every point, and whose clock can be set.
func plant(tree *overlay.Tree) (map[string]string, error) {
	list, err := points()
	if err != nil {
		return nil, err
	}
	files, err := tree.Plant(list)
	if err != nil {
		return nil, err
	}
	return files, setClocks(tree, files)
}

func TestEveryLineOfTheCrashTablesHasAPoint(t *testing.T) {
	t.Parallel()
	list, err := points()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, s := range crashes {
		has[s.table] = true
	}
	for _, p := range list {
		has[p.Table] = true
	}
	delete(has, "")
	tree, err := overlay.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"relay/doc.go", "relay/retry/doc.go"} {
		lines, err := tree.CrashTable(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !has[line] {
				t.Errorf("no relay dies %q", line)
			}
			delete(has, line)
		}
	}
	for line := range has {
		t.Errorf("no crash table has the line %q", line)
	}
}

func TestEveryPointIsTried(t *testing.T) {
	t.Parallel()
	list, err := points()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if !slices.ContainsFunc(crashes, func(s crash) bool { return s.point == p.Name }) {
			t.Errorf("no relay dies at %s", p.Name)
		}
	}
}
