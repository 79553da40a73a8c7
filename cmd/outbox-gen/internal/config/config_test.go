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

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/config"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const text = "\ufeff# the fleet\r\nversion: 1\r\n" + `
defaults: {tool: goose, schema: outbox, lanes: 16, retention: {slots: 4, period: 24h}, max_event_bytes: 1000000}
services:
  - {name: orders,   dir: services/orders/migrations,   components: &all [outbox, hold, relay, consumer, saga]}
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
	for name, c := range problemCases {
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
