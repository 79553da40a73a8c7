package config_test

import (
	compare "cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/config"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/exit"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const text = "\ufeff# the fleet\r\nversion: 1\r\n" + `
defaults: {tool: goose, schema: outbox, lanes: 16, retention: {slots: 4, period: 24h}, max_event_bytes: 1000000}
services:
  - {name: orders,   dir: services/orders/migrations,   components: &all [outbox, hold, relay]}
  - name: billing
    dir: "services/billing/db/migrate"
    tool: golang-migrate
    components: *all
    lanes: 32
    retention:
      period: 90m
    go: services/billing/outboxschema/schema_gen.go
`
	f, err := config.Parse("fleet/outbox-gen.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v", problems(err))
	}
	want := gen.Config{
		Version:  1,
		Root:     "fleet",
		Defaults: gen.Defaults{Tool: gen.Goose, Params: canonical.DefaultParams()},
		Services: []gen.Service{
			{Name: "orders", Dir: "services/orders/migrations", Components: canonical.Components()},
			{
				Name: "billing", Dir: "services/billing/db/migrate", Tool: gen.GolangMigrate, Components: canonical.Components(),
				Params: canonical.Params{Lanes: 32, Period: 90 * time.Minute}, Constants: "services/billing/outboxschema/schema_gen.go",
			},
		},
	}
	if diff := cmp.Diff(want, f.Config, cmpopts.IgnoreUnexported(gen.Config{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// problems are the lines that a person would see.
func problems(err error) []string {
	var e *exit.Error
	if !errors.As(err, &e) {
		return []string{fmt.Sprintf("not an exit.Error: %v", err)}
	}
	var all []string
	for _, p := range e.Problems {
		all = append(all, p.String()+" / "+p.Hint)
	}
	return all
}

// sorted puts lines in the order of their places.
func sorted(lines []string) []string {
	place := func(text string) (line, column int) {
		if _, err := fmt.Sscanf(text, "f:%d:%d:", &line, &column); err != nil {
			panic(err)
		}
		return line, column
	}
	return slices.SortedStableFunc(slices.Values(lines), func(a, b string) int {
		aLine, aColumn := place(a)
		bLine, bColumn := place(b)
		return compare.Or(compare.Compare(aLine, bLine), compare.Compare(aColumn, bColumn))
	})
}

const orders = "version: 1\nservices:\n  - {name: orders, dir: db, tool: goose, components: [outbox]}\n"

func TestProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":          {"", []string{"f:1:1: the file is empty / outbox-gen init proposes one"}},
		"only a comment": {"# nothing\n", []string{"f:1:1: the file is empty / outbox-gen init proposes one"}},
		"a list":         {"- a\n", []string{"f:1:1: the configuration is a list, not a mapping / write key: value pairs; the keys are version, defaults, services"}},
		"never closed":   {"services: [a\n", []string{"f:1:11: sequence end token ']' not found / correct the YAML there or just before"}},
		"tabs":           {"version: 1\n\tservices: []\n", []string{"f:2:1: found character '\t' that cannot start any token / correct the YAML there or just before"}},
		"key twice":      {"version: 1\nversion: 1\n", []string{"f:2:1: mapping key \"version\" already defined at [1:1] / correct the YAML there or just before"}},
		"two documents":  {orders + "---\nversion: 1\n", []string{"f:5:1: there is a second document / keep the first one"}},
		"unknown keys": {
			"version: 1\nservice: []\ndefaults: {tols: goose, colour: red}\nservices:\n  - {nmae: orders, dir: db, tool: goose, components: [outbox]}\n<<: {}\n",
			[]string{
				"f:2:1: unknown key service in the configuration / did you mean services?",
				"f:6:1: unknown key << in the configuration / the keys are version, defaults, services",
				"f:3:12: unknown key tols in defaults / did you mean tool?",
				"f:3:25: unknown key colour in defaults / the keys are tool, schema, lanes, retention, max_event_bytes",
				"f:5:6: unknown key nmae in a service / did you mean name?",
			},
		},
		"wrong types": {
			"version: one\ndefaults: [a]\nservices:\n  - {name: 5, dir: [a], tool: true, components: outbox, lanes: many, max_event_bytes: 1.5, retention: {slots: -1, period: 24}}\n  - orders\n",
			[]string{
				"f:1:10: version is \"one\", not a number that is allowed / write version: 1",
				"f:2:11: defaults is a list, not a mapping / write key: value pairs; the keys are tool, schema, lanes, retention, max_event_bytes",
				"f:4:12: name is \"5\", not a text / write a text; what looks like a number or true needs quotes",
				"f:4:20: dir is a list, not a text / write a text; what looks like a number or true needs quotes",
				"f:4:31: tool is \"true\", not a text / write a text; what looks like a number or true needs quotes",
				"f:4:64: lanes is \"many\", not a number that is allowed / write a whole number, or leave it out for the default",
				"f:4:87: max_event_bytes is \"1.5\", not a number that is allowed / write a whole number, or leave it out for the default",
				"f:4:111: slots is -1, and must be above zero / leave it out for the default",
				"f:4:123: period \"24\" is not a duration / write a duration such as 24h or 90m; a week is 168h",
				"f:4:49: components is \"outbox\", not a list / write a list, such as [a, b], or one line with a hyphen for each",
				"f:5:5: a service is \"orders\", not a mapping / write key: value pairs; the keys are name, dir, tool, components, go, schema, lanes, retention, max_event_bytes",
			},
		},
		"no values": {
			"version:\nservices:\n  - {name: \"\", dir: ~, tool: goose, components: [null]}\n",
			[]string{
				"f:1:1: version has no value / give it a value, or leave it out for the default",
				"f:3:16: dir has no value / give it a value, or leave it out for the default",
				"f:3:12: name is empty / give it a value, or leave it out",
				"f:3:50: a component is nothing, not a text / write a text; what looks like a number or true needs quotes",
			},
		},
		"zero means nothing": {
			"version: 1\ndefaults: {lanes: 0, retention: {period: 0s}}\n" + strings.TrimPrefix(orders, "version: 1\n"),
			[]string{
				"f:2:19: lanes is 0, and must be above zero / leave it out for the default",
				"f:2:42: period \"0s\" is not a duration / write a duration such as 24h or 90m; a week is 168h",
			},
		},
		"nothing to do": {"version: 1\n", []string{"f:1:1: there is no service / list at least one service"}},
		"what does not fit": {
			`version: 3
defaults: {lanes: 999}
services:
  - {name: orders, dir: ../orders, tool: gose, components: [outbox, ralay]}
  - name: Orders Service
    dir: /abs
    components: [hold, hold, blockchain]
    schema: out"box
  - {name: orders, dir: a, tool: tern, components: [outbox], retention: {slots: 2}, go: x.sql}
  - {name: billing, dir: a, tool: oracle, components: [outbox]}
`,
			[]string{
				"f:1:10: version 3 is unknown / write version: 1",
				"f:2:19: lanes 999: must be 1 to 256 / leave it out for the default",
				"f:4:25: dir \"../orders\" leads out of its folder / name a folder below the configuration file, with slashes, such as services/orders/migrations",
				"f:4:42: unknown tool \"gose\" / did you mean goose?",
				"f:4:69: unknown component \"ralay\" / did you mean relay?",
				"f:5:11: service name \"Orders Service\" is not allowed / use lower case letters, digits, dots, underscores and hyphens, 63 at most",
				"f:6:10: dir \"/abs\" is absolute / name a folder below the configuration file, with slashes, such as services/orders/migrations",
				"f:5:5: service Orders Service has no tool / name it here or in defaults: atlas, dbmate, flyway, golang-migrate, goose, tern, plain",
				"f:7:24: component hold is listed twice / list it once",
				"f:7:30: unknown component \"blockchain\" / the components are outbox, hold, relay",
				"f:8:13: schema \"out\\\"box\": must match [a-z_][a-z0-9_]*, 50 bytes at most, and not begin with pg_ / leave it out for the default",
				"f:9:81: retention slots 2: must be 3 to 32 / leave it out for the default",
				"f:9:89: go \"x.sql\" is not the name of a Go file / name a Go file in a folder of its own, such as services/orders/internal/outboxschema/schema_gen.go",
				"f:10:35: unknown tool \"oracle\" / the tools are atlas, dbmate, flyway, golang-migrate, goose, tern, plain",
				"f:9:12: name orders is listed twice / the first is service number 1, orders",
				"f:10:26: dir a is listed twice / the first is service number 3, orders",
			},
		},
		"an alias of nothing": {
			"version: 1\nservices:\n  - {name: *orders, dir: db, tool: goose, components: [outbox]}\n",
			[]string{"f:3:12: name is an alias of nothing: *orders, not a text / write a text; what looks like a number or true needs quotes"},
		},
		"a circle of aliases": {
			"version: 1\nservices: &a\n  - {name: x, dir: db, tool: goose, components: *a}\n",
			[]string{"f:3:5: a component is a mapping, not a text / write a text; what looks like a number or true needs quotes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("f", []byte(c.text))
			if err == nil {
				t.Fatal("no error")
			}
			if exit.Of(err) != exit.Usage {
				t.Errorf("status is %d", exit.Of(err))
			}
			if diff := cmp.Diff(sorted(c.want), problems(err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{"services/orders/migrations", "services/billing/migrations", "services/.hidden/migrations", "services/empty", "apps/eu/cart/db", "apps/us/cart/db"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "services/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	load := func(services string) (*config.File, error) {
		return config.Parse(filepath.Join(dir, "f"), []byte("version: 1\ndefaults: {tool: goose}\nservices:\n"+services))
	}
	f, err := load(`  - {dir: "services/*/migrations", components: [relay], go: "services/*/schema/s_gen.go"}
  - {name: "*-of-*", dir: "apps/*/[c]art/db", components: [outbox]}
`)
	if err != nil {
		t.Fatalf("%v", problems(err))
	}
	var got []string
	for _, s := range f.Config.Services {
		got = append(got, strings.Join([]string{s.Name, s.Dir, s.Constants}, " "))
	}
	want := []string{
		"billing services/billing/migrations services/billing/schema/s_gen.go",
		"orders services/orders/migrations services/orders/schema/s_gen.go",
		"eu-of-cart apps/eu/cart/db ",
		"us-of-cart apps/us/cart/db ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for services, want := range map[string]string{
		`  - {dir: "nothing/*", components: [outbox]}`:   `:4:11: dir "nothing/*" matches no folder / correct the pattern, or make the folders`,
		`  - {dir: "services/**", components: [outbox]}`: `:4:11: dir "services/**": ** is not a pattern here / write one * for each folder, such as services/*/migrations`,
		`  - {dir: "../*", components: [outbox]}`:        `:4:11: dir "../*" leads out of its folder, or is not in its shortest form / name folders below the configuration file, such as services/*/migrations`,
		`  - {dir: "services/[", components: [outbox]}`:  `:4:11: dir "services/[" is not a pattern: syntax error in pattern / close every [, and write \ for nothing`,
		"  - {name: x, dir: services/orders/migrations, components: [outbox]}\n  - {dir: \"services/*/migrations\", components: [outbox]}": `:5:11: dir services/orders/migrations is listed twice / the first is service number 1, x`,
	} {
		_, err := load(services + "\n")
		if got := problems(err); len(got) != 1 || got[0] != filepath.Join(dir, "f")+want {
			t.Errorf("%s\n got %q\nwant %q", services, got, want)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "outbox-gen.yaml")
	for _, c := range []struct{ path, want string }{
		{file, "does not exist"},
		{dir, "is not a file"},
	} {
		if _, err := config.Load(c.path); err == nil || !strings.Contains(err.Error(), c.want) || exit.Of(err) != exit.Usage {
			t.Errorf("error is %v, want %q in it", err, c.want)
		}
	}
	if err := os.WriteFile(file, make([]byte, 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(file); err == nil || !strings.Contains(err.Error(), "more than 1048576") {
		t.Errorf("error is %v", err)
	}
	if err := os.WriteFile(file, []byte(orders), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := config.Load(file)
	if err != nil || f.Config.Root != dir {
		t.Fatalf("root %q, %v", f.Config.Root, err)
	}
	// What is found later is shown where it is written.
	_, err = gen.Check(f.Config)
	got := problems(f.Explain(err))
	want := []string{file + ":3:25: folder db does not exist / make it, or correct the path: mkdir -p db"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever is in the file, the answer is a configuration or problems.
func FuzzParse(f *testing.F) {
	f.Add([]byte(orders))
	f.Add([]byte("a: &a [*a, {b: !!x c}]\n? - k\n: |\n  v\n"))
	f.Add([]byte(strings.Repeat("[", 1000)))
	f.Add([]byte("services: [{dir: 'a/*'}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if file, err := config.Parse(filepath.Join(t.TempDir(), "f"), text); (file == nil) == (err == nil) || err != nil && len(problems(err)) == 0 {
			t.Fatalf("%v, %v", file, err)
		}
	})
}
