package gen_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// refused wants Check and Write to report one problem, and nothing to be changed.
func refused(t *testing.T, c gen.Config, field, message string) {
	t.Helper()
	before := tree(t, c.Root)
	_, checked := gen.Check(c)
	_, wrote := gen.Write(t.Context(), c)
	_, planned := gen.Plan(c)
	for action, err := range map[string]error{"check": checked, "write": wrote, "plan": planned} {
		var problem *gen.ConfigError
		if !errors.As(err, &problem) || len(problem.Problems) != 1 {
			t.Errorf("%s: error is %v, want one problem", action, err)
			continue
		}
		if p := problem.Problems[0]; p.Field != field || !strings.Contains(p.Message, message) || p.Hint == "" {
			t.Errorf("%s: %+v, want field %s and %q", action, p, field, message)
		}
	}
	if diff := cmp.Diff(before, tree(t, c.Root)); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
}

func TestUnsafePaths(t *testing.T) {
	t.Parallel()
	for dir, message := range map[string]string{
		"":                        "dir is empty",
		"..":                      "leads out of its folder",
		"../elsewhere":            "leads out of its folder",
		"services/../../x":        "leads out of its folder",
		"/etc":                    "is absolute",
		"services/./orders":       "is not in its shortest form",
		"services//orders":        "is not in its shortest form",
		"services/orders/":        "is not in its shortest form",
		`services\orders`:         "has backslashes",
		"services/or\nders":       "has control characters",
		"services/or\x00ders":     "has control characters",
		"-rf":                     "begins with a hyphen",
		"services/does/not/exist": "folder services/does/not/exist does not exist",
	} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			c := config(root(t), gen.Goose)
			c.Services[0].Dir = dir
			refused(t, c, "dir", message)
		})
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	plant(t, outside, map[string]string{"0001_secret.sql": "SELECT 1;\n"})
	for name, c := range map[string]struct {
		link, to string // of the link in the repository
		message  string
	}{
		"folder out":           {"services", outside, "services leads out of the repository"},
		"folder out, relative": {"services", "../../../..", "services leads out of the repository"},
		"file out":             {"migrations/0001_secret.sql", filepath.Join(outside, "0001_secret.sql"), "migrations/0001_secret.sql leads out of the repository"},
		"link to nothing":      {"migrations/0001_gone.sql", "gone.sql", "migrations/0001_gone.sql is a symbolic link to nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := config(root(t), gen.Goose)
			if c.link == "services" {
				service.Services[0].Dir = "services"
			}
			if err := os.Symlink(c.to, filepath.Join(service.Root, c.link)); err != nil {
				t.Fatal(err)
			}
			refused(t, service, "dir", c.message)
		})
	}
	if got := names(tree(t, outside)); len(got) != 1 {
		t.Errorf("outside there is now %v", got)
	}
}

// Inside the repository links are followed: monorepos have them.
func TestLinksInside(t *testing.T) {
	t.Parallel()
	c := config(root(t), gen.Plain)
	plant(t, c.Root, map[string]string{"shared/0001_own.sql": "SELECT 1;\n"})
	for link, to := range map[string]string{"migrations/0001_own.sql": "../shared/0001_own.sql", "alias": "migrations"} {
		if err := os.Symlink(to, filepath.Join(c.Root, link)); err != nil {
			t.Fatal(err)
		}
	}
	c.Services[0].Dir = "alias"
	mustWrite(t, c)
	if found := mustCheck(t, c); len(found) > 0 {
		t.Errorf("found %v", kinds(found))
	}
	pick(t, c.Root, "migrations/0002_holdfast_outbox_v1.sql")

	c.Services = append(c.Services, c.Services[0])
	c.Services[1].Name, c.Services[1].Dir = "again", "migrations"
	refused(t, c, "dir", "dir migrations is the same folder as alias of service orders")
}

func TestNotAFolder(t *testing.T) {
	t.Parallel()
	c := config(root(t), gen.Goose)
	plant(t, c.Root, map[string]string{"file": ""})
	c.Services[0].Dir = "file"
	refused(t, c, "dir", "file is not a folder")
}

func TestConstantsPaths(t *testing.T) {
	t.Parallel()
	for file, message := range map[string]string{
		"../x/schema.go":      "leads out of its folder",
		"x/schema.sql":        "is not the name of a Go file",
		"x/schema_test.go":    "is not the name of a Go file",
		"my-schema/schema.go": "lies in a folder whose name can't be that of the package",
		"schema.go":           "lies in a folder whose name can't be that of the package",
		"main/schema.go":      "lies in a folder whose name can't be that of the package",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			c := config(root(t), gen.Goose)
			c.Services[0].Constants = file
			refused(t, c, "go", message)
		})
	}
}

// Code that somebody wrote is not overwritten, and nothing is written through links.
func TestConstantsOfOthers(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	plant(t, outside, map[string]string{"schema.go": "package schema\n"})
	for name, spoil := range map[string]struct {
		plant   func(t *testing.T, dir string)
		message string
	}{
		"by hand": {func(t *testing.T, dir string) {
			plant(t, dir, map[string]string{"schema/schema.go": "package schema\n"})
		}, "was not generated by outbox-gen"},
		"a link out": {func(t *testing.T, dir string) {
			if err := os.Symlink(outside, filepath.Join(dir, "schema")); err != nil {
				t.Fatal(err)
			}
		}, "leads out of the repository"},
		"below a file": {func(t *testing.T, dir string) { plant(t, dir, map[string]string{"schema": ""}) }, "is not a folder"},
		"a folder":     {func(t *testing.T, dir string) { plant(t, dir, map[string]string{"schema/schema.go/x": ""}) }, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := written(t, gen.Goose)
			c.Services[0].Constants = "schema/schema.go"
			spoil.plant(t, c.Root)
			before := tree(t, c.Root)
			for action, do := range map[string]func() error{
				"check": func() error { _, err := gen.Check(c); return err },
				"write": func() error { _, err := gen.WriteConstants(t.Context(), c); return err },
			} {
				var problem *gen.ConfigError
				if err := do(); !errors.As(err, &problem) || !strings.Contains(err.Error(), spoil.message) {
					t.Errorf("%s: error is %v, want %q in it", action, err, spoil.message)
				}
			}
			if diff := cmp.Diff(before, tree(t, c.Root)); diff != "" {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	c := gen.Config{
		Version:  2,
		Defaults: gen.Defaults{Tool: "gose", Params: canonical.Params{Lanes: 1000}},
		Services: []gen.Service{
			{Name: "orders", Dir: "a", Components: []canonical.Component{"outbox", "outbox", "holds"}},
			{Name: "Orders", Dir: "A", Tool: "liquibase", Params: canonical.Params{Schema: `out"box`}},
			{Name: "orders", Dir: "b", Components: canonical.Components(), Constants: "x/y.go"},
			{Name: "billing", Dir: "c", Components: canonical.Components(), Constants: "x/Y.go"},
		},
	}
	var problem *gen.ConfigError
	if err := c.Validate(); !errors.As(err, &problem) {
		t.Fatalf("error is %v", err)
	}
	var got []string
	for _, p := range problem.Problems {
		got = append(got, p.Field+": "+p.Message)
		if p.Hint == "" {
			t.Errorf("no hint: %+v", p)
		}
	}
	want := []string{
		"version: version 2 is unknown",
		`defaults.tool: unknown tool "gose"`,
		"defaults.lanes: lanes 1000: must be 1 to 256",
		"components: component outbox is listed twice",
		`components: unknown component "holds"`,
		`name: service name "Orders" is not allowed`,
		`tool: unknown tool "liquibase"`,
		"components: service Orders has no components",
		`schema: schema "out\"box": must match [a-z_][a-z0-9_]*, 50 bytes at most, and not begin with pg_`,
		"name: name Orders is listed twice",
		"dir: dir A is listed twice",
		"name: name orders is listed twice",
		"go: go x/Y.go is listed twice",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRootMustExist(t *testing.T) {
	t.Parallel()
	c := config(filepath.Join(t.TempDir(), "gone"), gen.Goose)
	if _, err := gen.Check(c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}
