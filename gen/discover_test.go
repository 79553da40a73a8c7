package gen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/gen"
)

func TestDiscover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plant(t, dir, map[string]string{
		"services/orders/migrations/001_a.sql":                     "-- +goose Up\nSELECT 1;\n",
		"services/orders/migrations/002_b.sql":                     "-- +goose Up\nSELECT 1;\n",
		"services/billing/db/migrate/1_a.up.sql":                   "SELECT 1;\n",
		"services/billing/db/migrate/1_a.down.sql":                 "SELECT 1;\n",
		"services/cart/migrations/001_a.sql":                       "SELECT 1;\n---- create above / drop below ----\n",
		"services/user/db/migrations/20250101000000_a.sql":         "-- migrate:up\nSELECT 1;\n-- migrate:down\n",
		"services/stock/src/main/resources/db/migration/V1__a.sql": "SELECT 1;\n",
		"services/front door/migrations/20250101000000_a.sql":      "SELECT 1;\n",
		"services/front door/migrations/atlas.sum":                 "h1:x\n",
		"apps/orders/migrations/0001_a.sql":                        "SELECT 1;\n",
		"node_modules/x/migrations/0001_a.sql":                     "SELECT 1;\n",
		"vendor/x/migrations/0001_a.sql":                           "SELECT 1;\n",
		".git/migrations/0001_a.sql":                               "SELECT 1;\n",
		"testdata/migrations/0001_a.sql":                           "SELECT 1;\n",
		"docs/queries/0001_a.sql":                                  "SELECT 1;\n",
		"README.md":                                                "",
	})
	if err := os.MkdirAll(filepath.Join(dir, "services/new/migrations"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "services/everything")); err != nil {
		t.Fatal(err)
	}
	d, err := gen.Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range d.Folders {
		got = append(got, fmt.Sprintf("%s: %s in %s, %d", f.Name, f.Tool, f.Dir, f.Migrations))
	}
	want := []string{
		"orders: plain in apps/orders/migrations, 1",
		"billing: golang-migrate in services/billing/db/migrate, 2",
		"cart: tern in services/cart/migrations, 1",
		"front-door: atlas in services/front door/migrations, 1",
		"new:  in services/new/migrations, 0",
		"orders-2: goose in services/orders/migrations, 2",
		"stock: flyway in services/stock/src/main/resources/db/migration, 1",
		"user: dbmate in services/user/db/migrations, 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the generator wrote is recognised again.
func TestDiscoverWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, tool := range gen.Tools() {
		c := written(t, tool)
		d, err := gen.Discover(c.Root)
		if err != nil || len(d.Folders) != 1 || d.Folders[0].Tool != tool && tool != gen.Tern {
			t.Errorf("%s: found %+v, %v", tool, d.Folders, err)
		}
	}
}
