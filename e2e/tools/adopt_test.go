package tools_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/gen/adopt"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// oldOutbox is what a service had. Its texts have what tools stumble over.
const oldOutbox = `CREATE TABLE outbox_events (id bigserial PRIMARY KEY, aggregate_id text, event_type text, payload text, published_at timestamptz);
INSERT INTO outbox_events (aggregate_id, event_type, payload, published_at) VALUES
  ('A', 'order.placed', 'gone', now()), ('A', 'order.paid', E'a;\nb;\n', NULL), ('B', 'order.placed', '$adopt$ {{.}}', NULL)`

// TestAdopt: each tool runs the migration that takes an older outbox over, and none gets back
// behind it.
func TestAdopt(t *testing.T) {
	t.Parallel()
	for _, r := range runners(t) {
		t.Run(string(r.tool), func(t *testing.T) {
			t.Parallel()
			dir, db := service(t, r), outboxtest.NewEmptyDatabase(t)
			if err := r.up(t.Context(), db.URL, dir); err != nil {
				t.Fatalf("up: %v", err)
			}
			if _, err := db.Pool.Exec(t.Context(), oldOutbox); err != nil {
				t.Fatal(err)
			}
			addAdoption(t, r, db, dir)
			for range 2 {
				if err := r.up(t.Context(), db.URL, dir); err != nil {
					t.Fatalf("up with the adoption: %v", err)
				}
			}
			rows, err := db.Pool.Query(t.Context(), "SELECT concat(type, ' ', convert_from(data, 'UTF8')) FROM outbox.event_outbox ORDER BY seq")
			if err != nil {
				t.Fatal(err)
			}
			got, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"order.paid a;\nb;\n", "order.placed $adopt$ {{.}}"}, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if r.down == nil {
				return
			}
			err = r.down(t.Context(), db.URL, dir)
			if err == nil || !strings.Contains(err.Error(), "adopt cannot be rolled back") && !strings.Contains(err.Error(), "Irreversible migration") {
				t.Errorf("down: %v, want a refusal", err)
			}
		})
	}
}

func addAdoption(t *testing.T, r runner, db *outboxtest.Database, dir string) {
	t.Helper()
	found, err := adopt.Look(t.Context(), db.Pool, adopt.Options{
		Constants: map[adopt.Attribute]string{adopt.Source: "/orders", adopt.DataContentType: "text/plain"},
	})
	if err != nil {
		t.Fatal(err)
	}
	migration, err := found.Migration("orders")
	if err != nil {
		t.Fatal(err)
	}
	c := gen.Config{Version: gen.ConfigVersion, Root: filepath.Dir(dir), Services: []gen.Service{
		{Name: "orders", Dir: "migrations", Tool: r.tool, Components: canonical.Components()},
	}}
	if _, err := gen.AddMigration(t.Context(), c, migration); err != nil {
		t.Fatal(err)
	}
	if drift, err := gen.Check(c); err != nil || len(drift) > 0 {
		t.Fatalf("check: %v, %v", drift, err)
	}
}
