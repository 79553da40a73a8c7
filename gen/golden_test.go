package gen_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/gen"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden writes into the folder that each tool has in testdata/<tool>/before, then
// writes the next version on top, and compares every byte with testdata/<tool>/after.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, tool := range gen.Tools() {
		t.Run(string(tool), func(t *testing.T) {
			t.Parallel()
			dir := root(t)
			before := filepath.Join("testdata", string(tool), "before")
			if err := os.CopyFS(filepath.Join(dir, "migrations"), os.DirFS(before)); err != nil {
				t.Fatal(err)
			}
			c := config(dir, tool)
			mustWrite(t, c)
			if found := mustCheck(t, c); len(found) > 0 {
				t.Errorf("check after write found %v", kinds(found))
			}
			mustWrite(t, c.WithPlan(small(nextVersions)))
			if found := mustCheck(t, c.WithPlan(small(nextVersions))); len(found) > 0 {
				t.Errorf("check after the upgrade found %v", kinds(found))
			}
			compareGolden(t, filepath.Join("testdata", string(tool), "after"), filepath.Join(dir, "migrations"))
		})
	}
}

func compareGolden(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.RemoveAll(golden); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(golden, os.DirFS(got)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(tree(t, golden), tree(t, got)); diff != "" {
		t.Errorf("%s (-golden +got); go test ./gen -update writes it anew:\n%s", golden, diff)
	}
}

func kinds(found []gen.Drift) []string {
	var all []string
	for _, d := range found {
		all = append(all, string(d.Kind)+" "+d.File)
	}
	return all
}
