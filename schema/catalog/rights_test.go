package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// TestEveryObjectHasItsRights: whoever adds a table, a view, or a function for callers decides
// who may use it, in canonical.Rights; and what is named there exists.
func TestEveryObjectHasItsRights(t *testing.T) {
	t.Parallel()
	names, err := catalog.NamesOf(canonical.DefaultParams(), every...)
	if err != nil {
		t.Fatal(err)
	}
	granted := map[string]bool{}
	for _, role := range canonical.Roles() {
		for _, r := range canonical.Rights(role, every...) {
			granted[r.Kind+" "+r.Name] = true
		}
	}
	delete(granted, "SCHEMA ")
	var exist []string
	for _, name := range names.Tables {
		if !strings.HasPrefix(name, "event_outbox_") || name == "event_outbox_info" { // partitions are nobody's
			exist = append(exist, "TABLE "+name)
		}
	}
	for _, name := range names.Sequences {
		exist = append(exist, "SEQUENCE "+name)
	}
	for _, signature := range names.Functions {
		if name, _, _ := strings.Cut(signature, "("); !strings.HasPrefix(name, "_") {
			exist = append(exist, "FUNCTION "+name)
		}
	}
	for _, object := range exist {
		if !granted[object] {
			t.Errorf("nobody may use %s: say who in schema/canonical/rights.go", object)
		}
		delete(granted, object)
	}
	for object := range granted {
		t.Errorf("rights are granted on %s, which does not exist", object)
	}
}

// TestFunctionsAreSafe: every function runs with a search path that nobody else can put
// objects into, and nobody may call one whom no right was given.
func TestFunctionsAreSafe(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		pool := s.Pool(t)
		install(t, pool, canonical.DefaultParams(), every...)
		rows, err := pool.Query(t.Context(), `SELECT p.oid::regprocedure::text, coalesce(p.proconfig, '{}'),
				EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0)
			FROM pg_proc p WHERE p.pronamespace = 'outbox'::regnamespace`)
		if err != nil {
			t.Fatal(err)
		}
		var name string
		var config []string
		var public bool
		n := 0
		_, err = pgx.ForEachRow(rows, []any{&name, &config, &public}, func() error {
			n++
			if !slices.Contains(config, "search_path=pg_catalog, pg_temp") {
				t.Errorf("%s runs with the search path of its caller: %v", name, config)
			}
			if public {
				t.Errorf("everybody may call %s", name)
			}
			return nil
		})
		if err != nil || n == 0 {
			t.Errorf("%d functions, %v", n, err)
		}
	})
}
