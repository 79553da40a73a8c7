package tools_test

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ariga.io/atlas/sql/migrate"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

//go:embed catalog.sql
var catalogSQL string

// catalog is everything in the schema that changes how it behaves.
func catalog(t *testing.T, db *outboxtest.Database) []string {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), catalogSQL)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 100 {
		t.Fatalf("the catalog has only %d lines", len(lines))
	}
	return lines
}

// service writes the files of a service that has a migration of its own, and returns their
// folder.
func service(t *testing.T, r runner) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "migrations")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range r.own {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := gen.Config{Version: gen.ConfigVersion, Root: root, Services: []gen.Service{
		{Name: "orders", Dir: "migrations", Tool: r.tool, Components: canonical.Components()},
	}}
	if _, err := gen.Write(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if found, err := gen.Check(c); err != nil || len(found) > 0 {
		t.Fatalf("check: %v, %v", found, err)
	}
	return dir
}

// TestInstall: each tool runs the files, twice; the database is that of gen.Install; and no
// tool gets back behind it.
func TestInstall(t *testing.T) {
	t.Parallel()
	want := catalog(t, outboxtest.NewDatabase(t))
	for _, r := range runners(t) {
		t.Run(string(r.tool), func(t *testing.T) {
			t.Parallel()
			dir, db := service(t, r), outboxtest.NewEmptyDatabase(t)
			for range 2 {
				if err := r.up(t.Context(), db.URL, dir); err != nil {
					t.Fatalf("up: %v", err)
				}
				if diff := cmp.Diff(want, catalog(t, db)); diff != "" {
					t.Fatalf("catalog (-gen.Install +%s):\n%s", r.tool, diff)
				}
			}
			if _, err := db.Pool.Exec(t.Context(), "SELECT outbox.publish_text('/orders', 'order.placed', '{}')"); err != nil {
				t.Fatalf("publish: %v", err)
			}
			if r.down != nil {
				refusesToGoBack(t, r, db, dir)
			}
		})
	}
}

func refusesToGoBack(t *testing.T, r runner, db *outboxtest.Database, dir string) {
	t.Helper()
	before := catalog(t, db)
	err := r.down(t.Context(), db.URL, dir)
	if err == nil || !strings.Contains(err.Error(), "cannot be rolled back: its tables hold events") && !strings.Contains(err.Error(), "Irreversible migration") {
		t.Errorf("down: %v, want a refusal", err)
	}
	if diff := cmp.Diff(before, catalog(t, db)); diff != "" {
		t.Errorf("down changed the catalog (-before +after):\n%s", diff)
	}
	var events int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM outbox.event_outbox").Scan(&events); err != nil || events != 1 {
		t.Errorf("%d events are left, %v", events, err)
	}
}

// TestInstallAtOnce: several replicas of a service migrate when they start.
func TestInstallAtOnce(t *testing.T) {
	t.Parallel()
	want := catalog(t, outboxtest.NewDatabase(t))
	for _, r := range runners(t) {
		if !r.waits {
			continue
		}
		t.Run(string(r.tool), func(t *testing.T) {
			t.Parallel()
			dir, db := service(t, r), outboxtest.NewEmptyDatabase(t)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					if err := r.up(t.Context(), db.URL, dir); err != nil {
						t.Errorf("up: %v", err)
					}
				})
			}
			all.Wait()
			if diff := cmp.Diff(want, catalog(t, db)); diff != "" {
				t.Errorf("catalog (-gen.Install +%s):\n%s", r.tool, diff)
			}
		})
	}
}

// TestAtlasSum compares our atlas.sum with the one that atlas computes, and wants atlas to
// refuse a folder in which a byte was changed.
func TestAtlasSum(t *testing.T) {
	t.Parallel()
	dir := service(t, runner{tool: gen.Atlas})
	folder, err := migrate.NewLocalDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := migrate.Validate(folder); err != nil {
		t.Errorf("atlas says: %v", err)
	}
	sum, err := folder.Checksum()
	if err != nil {
		t.Fatal(err)
	}
	want, err := sum.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, migrate.HashFileName))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("atlas.sum (-atlas +ours):\n%s", diff)
	}
	files, err := folder.Files()
	if err != nil || len(files) != len(canonical.Components()) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	if err := os.WriteFile(filepath.Join(dir, files[1].Name()), append(files[1].Bytes(), '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := atlasUp(t.Context(), outboxtest.NewEmptyDatabase(t).URL, dir); !errors.Is(err, migrate.ErrChecksumMismatch) {
		t.Errorf("atlas runs an edited folder: %v", err)
	}
}

// TestAtlasGolden: what the golden folders of package gen have is right for atlas too.
func TestAtlasGolden(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"before", "after"} {
		folder, err := migrate.NewLocalDir(filepath.Join("..", "..", "gen", "testdata", "atlas", state))
		if err != nil {
			t.Fatal(err)
		}
		if err := migrate.Validate(folder); err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
}
