package gen_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func TestWriteTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	for _, tool := range gen.Tools() {
		t.Run(string(tool), func(t *testing.T) {
			t.Parallel()
			c := config(root(t), tool).WithPlan(nil) // the real schema
			plan, err := gen.Plan(c)
			if err != nil {
				t.Fatal(err)
			}
			if files := tree(t, c.Root); len(files) > 0 {
				t.Fatalf("a plan made %v", names(files))
			}
			first := mustWrite(t, c)
			if diff := cmp.Diff(paths(plan), paths(first)); diff != "" {
				t.Errorf("write and plan (-plan +write):\n%s", diff)
			}
			before := tree(t, c.Root)
			second := mustWrite(t, c)
			if len(second.Changes) > 0 || second.Services != 1 || second.Kept != len(before)-sums(before) {
				t.Errorf("second write: %d changes, %d services, %d kept of %d", len(second.Changes), second.Services, second.Kept, len(before))
			}
			if diff := cmp.Diff(before, tree(t, c.Root)); diff != "" {
				t.Errorf("second write (-before +after):\n%s", diff)
			}
			if found := mustCheck(t, c); len(found) > 0 {
				t.Errorf("check found %v", kinds(found))
			}
		})
	}
}

func paths(r gen.Report) []string {
	var all []string
	for _, change := range r.Changes {
		all = append(all, string(change.Action)+" "+change.Path)
	}
	return all
}

func sums(files map[string]string) int {
	n := 0
	for name := range files {
		if strings.HasSuffix(name, "atlas.sum") {
			n++
		}
	}
	return n
}

// What was edited stays as it is: to judge it is for check.
func TestWriteNeverEdits(t *testing.T) {
	t.Parallel()
	c := written(t, gen.Goose)
	edit(t, c.Root, pick(t, c.Root, "outbox_v1"), func(s string) string { return s + "-- mine\n" })
	removeOurs(t, c.Root, "relay_v1")
	before := tree(t, c.Root)
	mustWrite(t, c)
	after := tree(t, c.Root)
	delete(after, pick(t, c.Root, "relay_v1"))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// threeServices is a fleet whose last service can be made to fail.
func threeServices(t *testing.T) gen.Config {
	t.Helper()
	c := config(t.TempDir(), gen.Goose)
	c.Services = nil
	for _, s := range []gen.Service{
		{Name: "one", Tool: gen.Atlas, Constants: "one/schema/schema_gen.go"}, {Name: "two", Tool: gen.GolangMigrate}, {Name: "three", Tool: gen.Goose},
	} {
		s.Dir, s.Components = s.Name, canonical.Components()
		plant(t, c.Root, map[string]string{s.Name + "/00001_own.sql": "-- +goose Up\nSELECT 1;\n"})
		c.Services = append(c.Services, s)
	}
	return c
}

// meanwhile calls a function once, after the folders were listed and before anything is written.
func meanwhile(c *gen.Config, do func()) {
	calls := 0
	c.Now = func() time.Time {
		if calls++; calls == len(c.Services) {
			do()
		}
		return clock
	}
}

func TestWriteAllOrNothing(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		spoil func(t *testing.T, c *gen.Config) context.Context
		want  string
	}{
		"rendering fails": {func(t *testing.T, c *gen.Config) context.Context {
			good := small(firstVersions)
			*c = c.WithPlan(func(p canonical.Params, components ...canonical.Component) ([]canonical.Rendered, error) {
				if p.Lanes == 7 {
					return nil, broken
				}
				return good(p, components...)
			})
			c.Services[2].Params.Lanes = 7
			return t.Context()
		}, "broken"},
		"cancelled": {func(t *testing.T, _ *gen.Config) context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		}, "context canceled"},
		"another process was quicker": {func(t *testing.T, c *gen.Config) context.Context {
			meanwhile(c, func() { plant(t, c.Root, map[string]string{"three/00004_holdfast_relay_v1.sql": "quicker\n"}) })
			return t.Context()
		}, "write three/00004_holdfast_relay_v1.sql: another process made the file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fleet := threeServices(t)
			ctx := c.spoil(t, &fleet)
			before := tree(t, fleet.Root)
			report, err := gen.Write(ctx, fleet)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error is %v, want %q in it", err, c.want)
			}
			if len(report.Changes) > 0 {
				t.Errorf("reports %v", paths(report))
			}
			after := tree(t, fleet.Root)
			delete(after, "three/00004_holdfast_relay_v1.sql")
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("half-written (-before +after):\n%s", diff)
			}
		})
	}
}

// A checksum file that was updated is put back when a later step fails.
func TestWriteUndoesUpdates(t *testing.T) {
	t.Parallel()
	fleet := threeServices(t)
	rehash(t, filepath.Join(fleet.Root, "one"))
	before := tree(t, fleet.Root)
	meanwhile(&fleet, func() { plant(t, fleet.Root, map[string]string{"three/00004_holdfast_relay_v1.sql": "quicker\n"}) })
	if _, err := gen.Write(t.Context(), fleet); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("error is %v", err)
	}
	removeOurs(t, fleet.Root, "three/00004")
	if diff := cmp.Diff(before, tree(t, fleet.Root)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// After a process was killed between two renames, the next write completes its work.
func TestWriteAfterAKill(t *testing.T) {
	t.Parallel()
	for kept := range 4 {
		c := config(root(t), gen.Atlas)
		plant(t, c.Root, map[string]string{"migrations/20250101000000_own.sql": "SELECT 1;\n"})
		rehash(t, filepath.Join(c.Root, "migrations"))
		sum := tree(t, c.Root)["migrations/atlas.sum"]
		report := mustWrite(t, c)
		complete := tree(t, c.Root)
		for i, change := range report.Changes {
			if i < kept {
				continue
			}
			if change.Action == gen.Update {
				plant(t, c.Root, map[string]string{change.Path: sum})
			} else if err := os.Remove(filepath.Join(c.Root, change.Path)); err != nil {
				t.Fatal(err)
			}
		}
		mustWrite(t, c)
		if diff := cmp.Diff(complete, tree(t, c.Root)); diff != "" {
			t.Errorf("killed after %d renames (-complete +after):\n%s", kept, diff)
		}
	}
}

// A checksum file that was wrong before must not become right by the way.
func TestWriteDoesNotBlessTheSum(t *testing.T) {
	t.Parallel()
	c := config(root(t), gen.Atlas)
	plant(t, c.Root, map[string]string{"migrations/20250101000000_own.sql": "SELECT 1;\n"})
	rehash(t, filepath.Join(c.Root, "migrations"))
	plant(t, c.Root, map[string]string{"migrations/20250101000000_own.sql": "SELECT 2;\n"})
	before := tree(t, c.Root)
	_, err := gen.Write(t.Context(), c)
	var sum *gen.SumError
	if !errors.As(err, &sum) || sum.Hint() != "look at what was changed, then: atlas migrate hash --dir file://migrations" {
		t.Fatalf("error is %v", err)
	}
	if diff := cmp.Diff(before, tree(t, c.Root)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// A number that was freed between other files is used again where the order needs it.
func TestWriteFillsGaps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool   gen.Tool
		own    []string
		remove string
		want   string
	}{
		"before its dependents":        {gen.Plain, []string{"0001_own.sql"}, "outbox_v1", "migrations/0002_holdfast_outbox_v1.sql"},
		"a time before its dependents": {gen.Goose, []string{"20250101000000_own.sql"}, "outbox_v1", "migrations/20261129100000_holdfast_outbox_v1.sql"},
		"tern has no gaps":             {gen.Tern, []string{"001_own.sql"}, "relay_v1", "migrations/004_holdfast_relay_v1.sql"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := config(root(t), c.tool)
			for _, own := range c.own {
				plant(t, config.Root, map[string]string{"migrations/" + own: "SELECT 1;\n"})
			}
			mustWrite(t, config)
			if c.tool == gen.Tern {
				plant(t, config.Root, map[string]string{"migrations/005_later.sql": "SELECT 1;\n"})
			}
			removeOurs(t, config.Root, c.remove)
			report := mustWrite(t, config)
			if got := paths(report); !slices.Equal(got, []string{"create " + c.want}) {
				t.Errorf("wrote %v, want %s", got, c.want)
			}
		})
	}
}

func TestWriteWithoutAFreeNumber(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool gen.Tool
		own  string
		want string
	}{
		"four digits by name": {gen.Plain, "9998_own.sql", "the numbers of the folder are used up: plain would run 10000 before 9999"},
		"goose":               {gen.Goose, "9223372036854775806_own.sql", "the numbers of the folder are used up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := config(root(t), c.tool)
			plant(t, config.Root, map[string]string{"migrations/" + c.own: "SELECT 1;\n"})
			_, err := gen.Write(t.Context(), config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q in it", err, c.want)
			}
			if found := mustCheck(t, config); len(found) < 3 {
				t.Errorf("check found %v", kinds(found))
			}
		})
	}
}

func TestAddMigration(t *testing.T) {
	t.Parallel()
	for _, tool := range gen.Tools() {
		t.Run(string(tool), func(t *testing.T) {
			t.Parallel()
			c := written(t, tool)
			m := gen.Migration{Service: "orders", Name: "Move the old outbox over", Header: "-- moves\n", SQL: "SELECT 1;\n", Refusal: "DO $$ BEGIN RAISE 'no'; END $$;\n"}
			plan, err := gen.PlanMigration(c, m)
			if err != nil {
				t.Fatal(err)
			}
			report, err := gen.AddMigration(t.Context(), c, m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(paths(plan), paths(report)); diff != "" {
				t.Errorf("(-plan +report):\n%s", diff)
			}
			if !strings.Contains(report.Changes[0].Path, "_move_the_old_outbox_over") {
				t.Errorf("wrote %v", paths(report))
			}
			if found := mustCheck(t, c); len(found) > 0 {
				t.Errorf("check found %v", kinds(found))
			}
		})
	}
}

func TestAddMigrationRefuses(t *testing.T) {
	t.Parallel()
	c := written(t, gen.Tern)
	for want, m := range map[string]gen.Migration{
		`there is no service "billing"`:         {Service: "billing", Name: "x", SQL: "SELECT 1;\n"},
		`can't have the name "--"`:              {Service: "orders", Name: "--", SQL: "SELECT 1;\n"},
		`can't have the name "holdfast hold v1`: {Service: "orders", Name: "holdfast hold v1 again", SQL: "SELECT 1;\n"},
		`tern would not run "{{" as SQL`:        {Service: "orders", Name: "x", SQL: "SELECT '{{';\n"},
	} {
		if _, err := gen.AddMigration(t.Context(), c, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q in it", err, want)
		}
	}
}
