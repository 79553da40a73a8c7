package gen_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// written makes a service of the tool, with all files in place.
func written(t *testing.T, tool gen.Tool) gen.Config {
	t.Helper()
	c := config(root(t), tool)
	mustWrite(t, c)
	return c
}

// only wants one drift of a kind, and returns it.
func only(t *testing.T, c gen.Config, kind gen.Kind) gen.Drift {
	t.Helper()
	found := mustCheck(t, c)
	if len(found) != 1 || found[0].Kind != kind {
		t.Fatalf("found %v, want one %s", kinds(found), kind)
	}
	return found[0]
}

func TestDriftHandmade(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"index":     "CREATE INDEX mine ON outbox.event_outbox (kind);",
		"column":    "alter table \"outbox\".event_outbox add column mine text;",
		"function":  "CREATE OR REPLACE FUNCTION outbox.publish(kind text) RETURNS bigint AS $$ SELECT 1 $$ LANGUAGE sql;",
		"do":        "DO $$ BEGIN ALTER TABLE OUTBOX.event_outbox SET (fillfactor = 50); END $$;",
		"trigger":   "CREATE TRIGGER mine AFTER INSERT ON outbox.event_outbox EXECUTE FUNCTION f();",
		"partition": "CREATE TABLE mine PARTITION OF outbox.event_outbox DEFAULT;",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := written(t, gen.Plain)
			plant(t, c.Root, map[string]string{"migrations/0900_mine.sql": "SELECT 1;\n\n" + sql + "\n"})
			d := only(t, c, gen.KindHandmade)
			if d.File != "migrations/0900_mine.sql" || d.Line != 3 || !strings.Contains(d.Mend, "line 3 of migrations/0900_mine.sql") {
				t.Errorf("got %s, line %d", describe(d), d.Line)
			}
		})
	}
}

// What a service may do beside us.
func TestDriftNotHandmade(t *testing.T) {
	t.Parallel()
	c := config(root(t), gen.Plain)
	plant(t, c.Root, map[string]string{
		// An outbox of before, which was moved away before ours came.
		"migrations/0001_legacy.sql": "CREATE TABLE outbox.event_outbox (id int);\nALTER TABLE outbox.event_outbox RENAME TO old;\n",
	})
	mustWrite(t, c)
	plant(t, c.Root, map[string]string{
		"migrations/0900_mine.sql": strings.Join([]string{
			"GRANT SELECT ON outbox.event_outbox TO reporting;",
			"ALTER TABLE outbox.event_outbox OWNER TO migrator;",
			"CREATE VIEW mine AS SELECT * FROM outbox.event_outbox;",
			"-- CREATE TABLE outbox.event_outbox ()",
			"SELECT 'DROP TABLE outbox.event_outbox;';",
			"CREATE TABLE public.event_outbox (id int);",
			"INSERT INTO outbox.event_outbox VALUES (1);",
		}, "\n") + "\n",
		"migrations/0901_broken.sql":        "SELECT 'outbox. never closed",
		"migrations/0902_enable_outbox.sql": "SELECT 1;\n",
		"migrations/README":                 "ALTER TABLE outbox.event_outbox ...\n",
	})
	if found := mustCheck(t, c); len(found) > 0 {
		t.Errorf("found %s", describe(found[0]))
	}
}

func TestDriftAtlasSum(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(sum string) string{
		"edited":  func(sum string) string { return strings.Replace(sum, "h1:", "h1:A", 1) },
		"cut":     func(sum string) string { return sum[:len(sum)/2] },
		"CRLF":    func(sum string) string { return strings.ReplaceAll(sum, "\n", "\r\n") },
		"emptied": func(string) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := written(t, gen.Atlas)
			edit(t, c.Root, "migrations/atlas.sum", spoil)
			d := only(t, c, gen.KindSum)
			if d.Mend != "atlas migrate hash --dir file://migrations" {
				t.Errorf("mend is %q", d.Mend)
			}
			mend(t, c, d)
			if found := mustCheck(t, c); len(found) > 0 {
				t.Errorf("found %v", kinds(found))
			}
		})
	}
}

func TestDriftAtlasSumMissing(t *testing.T) {
	t.Parallel()
	c := written(t, gen.Atlas)
	removeOurs(t, c.Root, "atlas.sum")
	mend(t, c, only(t, c, gen.KindSum))
	if found := mustCheck(t, c); len(found) > 0 {
		t.Errorf("found %v", kinds(found))
	}
}

func TestDriftConstants(t *testing.T) {
	t.Parallel()
	c := written(t, gen.Goose)
	c.Services[0].Constants = "orders/outboxschema/schema_gen.go"
	mend(t, c, only(t, c, gen.KindConstants))
	if found := mustCheck(t, c); len(found) > 0 {
		t.Fatalf("found %v", kinds(found))
	}
	c.Services[0].Params.MaxEventBytes = 2000
	removeOurs(t, c.Root, "holdfast_")
	mustWrite(t, c)
	d := only(t, c, gen.KindConstants)
	if d.Line == 0 || !strings.Contains(string(d.Expected), "MaxEventBytes = 2000") {
		t.Errorf("got %s in line %d", describe(d), d.Line)
	}
	mend(t, c, d)
	if found := mustCheck(t, c); len(found) > 0 {
		t.Errorf("found %v", kinds(found))
	}
}

// Two branches that were merged gave the same number to two migrations.
func TestDriftNumberUsedTwice(t *testing.T) {
	t.Parallel()
	for _, tool := range []gen.Tool{gen.Plain, gen.Tern, gen.Goose, gen.Atlas} {
		t.Run(string(tool), func(t *testing.T) {
			t.Parallel()
			c := written(t, tool)
			file := pick(t, c.Root, "hold_v1")
			plant(t, c.Root, map[string]string{strings.Replace(file, "holdfast_hold_v1", "add_notes", 1): "-- +goose Up\nSELECT 1;\n"})
			if tool == gen.Atlas {
				rehash(t, filepath.Join(c.Root, "migrations"))
			}
			d := only(t, c, gen.KindReordered)
			if !strings.Contains(d.Detail, "has the number of") {
				t.Errorf("detail is %q", d.Detail)
			}
			mend(t, c, d)
			if found := mustCheck(t, c); len(found) > 0 {
				t.Errorf("after %s: %v", d.Mend, kinds(found))
			}
		})
	}
}

// A folder or a link in the place of a file is not that file.
func TestDriftNotAFile(t *testing.T) {
	t.Parallel()
	c := written(t, gen.Goose)
	file := pick(t, c.Root, "relay_v1")
	path := filepath.Join(c.Root, file)
	if err := os.Rename(path, filepath.Join(c.Root, "elsewhere.sql")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../elsewhere.sql", path); err != nil {
		t.Fatal(err)
	}
	d := only(t, c, gen.KindEdited)
	if d.Detail != "is a symbolic link" {
		t.Errorf("detail is %q", d.Detail)
	}
	mend(t, c, d)
	if found := mustCheck(t, c); len(found) > 0 {
		t.Fatalf("found %v", kinds(found))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	got := kinds(mustCheck(t, c))
	if diff := cmp.Diff([]string{"missing migrations/N_holdfast_relay_v1.sql", "extra " + file}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// One service's drift is not another's, and the order is that of the configuration.
func TestDriftOfManyServices(t *testing.T) {
	t.Parallel()
	c := config(t.TempDir(), gen.Goose)
	c.Services = nil
	for _, name := range []string{"zebra", "apple", "mango"} {
		plant(t, c.Root, map[string]string{name + "/db/README": ""})
		c.Services = append(c.Services, gen.Service{Name: name, Dir: name + "/db", Components: []canonical.Component{canonical.Relay}})
	}
	mustWrite(t, c)
	for _, name := range []string{"zebra", "mango"} {
		edit(t, c.Root, pick(t, c.Root, name+"/db/20261129100001"), func(s string) string { return s + "-- mine\n" })
	}
	var got []string
	for _, d := range mustCheck(t, c) {
		got = append(got, d.Service)
	}
	if !slices.Equal(got, []string{"zebra", "mango"}) {
		t.Errorf("services are %v", got)
	}
}
