package gen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestDrift breaks a sound folder of every tool in every way, one at a time, wants Check to
// name it, and wants the command that it gives to help.
func TestDrift(t *testing.T) {
	t.Parallel()
	for _, c := range driftCases {
		for _, tool := range gen.Tools() {
			t.Run(c.name+"/"+string(tool), func(t *testing.T) {
				t.Parallel()
				dir := root(t)
				service := config(dir, tool)
				mustWrite(t, service)
				c.spoil(t, dir)
				if tool == gen.Atlas {
					rehash(t, filepath.Join(dir, "migrations"))
				}
				if c.now != nil {
					service = c.now(service)
				}
				c.check(t, service)
			})
		}
	}
}

type driftCase struct {
	name   string
	spoil  func(t *testing.T, dir string)
	now    func(gen.Config) gen.Config // what changed in the configuration or the generator
	want   []gen.Kind                  // without repetitions
	detail string
	byHand bool // no command can mend it
}

var driftCases = []driftCase{
	{name: "one byte edited", want: []gen.Kind{gen.KindEdited}, detail: "differs from line ",
		spoil: func(t *testing.T, dir string) {
			editOurs(t, dir, "outbox_v1", func(s string) string { return strings.Replace(s, "bigint PRIMARY", "Bigint PRIMARY", 1) })
		}},
	{name: "a line appended", want: []gen.Kind{gen.KindEdited},
		spoil: func(t *testing.T, dir string) {
			editOurs(t, dir, "relay_v1", func(s string) string { return s + "\n" })
		}},
	{name: "emptied", want: []gen.Kind{gen.KindEdited}, detail: "differs from line 1 on",
		spoil: func(t *testing.T, dir string) {
			editOurs(t, dir, "relay_v1", func(string) string { return "" })
		}},
	{name: "a statement that comes to the same", want: []gen.Kind{gen.KindEdited},
		spoil: func(t *testing.T, dir string) {
			editOurs(t, dir, "outbox_v1", func(s string) string {
				return strings.Replace(s, "CREATE SCHEMA IF NOT EXISTS outbox", `CREATE SCHEMA IF NOT EXISTS "outbox"`, 1)
			})
		}},
	{name: "last file deleted", want: []gen.Kind{gen.KindMissing}, detail: "component relay version 1 is not there",
		spoil: func(t *testing.T, dir string) { removeOurs(t, dir, "relay_v1") }},
	{name: "first file deleted", want: []gen.Kind{gen.KindMissing},
		spoil: func(t *testing.T, dir string) { removeOurs(t, dir, "outbox_v1") }},
	{name: "all files deleted", want: []gen.Kind{gen.KindMissing},
		spoil: func(t *testing.T, dir string) { removeOurs(t, dir, "holdfast_") }},
	{name: "stranger under our name", want: []gen.Kind{gen.KindExtra}, detail: "a name that is kept for generated files",
		spoil: func(t *testing.T, dir string) {
			plant(t, dir, map[string]string{"migrations/0999_holdfast_outbox_v1_fix.sql": "SELECT 1;\n"})
		}},
	{name: "unknown component under our name", want: []gen.Kind{gen.KindExtra}, detail: "which this outbox-gen does not know", byHand: true,
		spoil: func(t *testing.T, dir string) {
			copyOurs(t, dir, "relay_v1", func(name string) string { return strings.Replace(name, "relay_v1", "cloud_v1", 1) })
		}},
	{name: "left over by a merge", want: []gen.Kind{gen.KindExtra},
		spoil: func(t *testing.T, dir string) {
			copyOurs(t, dir, "outbox_v1", func(name string) string { return name + ".orig" })
		}},
	{name: "the same version twice", want: []gen.Kind{gen.KindExtra}, detail: "once more",
		spoil: func(t *testing.T, dir string) {
			copyOurs(t, dir, "outbox_v1", func(name string) string { return renumber(name, "30000101000000") })
		}},
	{name: "another name for ours", want: []gen.Kind{gen.KindMissing, gen.KindExtra},
		spoil: func(t *testing.T, dir string) {
			renameOurs(t, dir, "relay_v1", func(name string) string { return strings.Replace(name, "relay_v1", "relay_v1_tuned", 1) })
		}},
	{name: "outbox behind its dependents", want: []gen.Kind{gen.KindReordered}, detail: "needs",
		spoil: func(t *testing.T, dir string) {
			renameOurs(t, dir, "outbox_v1", func(name string) string { return renumber(name, "30000101000000") })
		}},
	{name: "older canonical version", want: []gen.Kind{gen.KindOlder}, detail: "is at an older version than 2",
		spoil: func(*testing.T, string) {},
		now:   func(c gen.Config) gen.Config { return c.WithPlan(small(nextVersions)) }},
	{name: "made from another text", want: []gen.Kind{gen.KindOlder}, detail: "made from another text of relay version 1",
		spoil: func(t *testing.T, dir string) {
			editOurs(t, dir, "relay_v1", func(s string) string {
				i := strings.Index(s, "checksum:   ") + len("checksum:   ")
				return s[:i] + strings.Repeat("0", 64) + s[i+64:]
			})
		}},
	{name: "CRLF endings", want: []gen.Kind{gen.KindLineEndings}, detail: "CRLF",
		spoil: func(t *testing.T, dir string) {
			editOurs(t, dir, "hold_v1", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") })
		}},
	{name: "other parameters", want: []gen.Kind{gen.KindParameters}, detail: `the configuration says {"schema":"outbox","lanes":32`,
		spoil: func(*testing.T, string) {},
		now: func(c gen.Config) gen.Config {
			c.Services = slices.Clone(c.Services)
			c.Services[0].Params.Lanes = 32
			return c
		}},
	{name: "component taken away", want: []gen.Kind{gen.KindExtra}, detail: "which the configuration does not give this service", byHand: true,
		spoil: func(*testing.T, string) {},
		now: func(c gen.Config) gen.Config {
			c.Services = slices.Clone(c.Services)
			c.Services[0].Components = []canonical.Component{canonical.Relay}
			return c
		}},
	{name: "a version from the future", want: []gen.Kind{gen.KindExtra}, detail: "is version 7 of component outbox, of which this outbox-gen knows 1", byHand: true,
		spoil: func(t *testing.T, dir string) {
			copyOurs(t, dir, "outbox_v1", func(name string) string { return strings.Replace(name, "_v1", "_v7", 1) })
		}},
}

func (c driftCase) check(t *testing.T, service gen.Config) {
	found := mustCheck(t, service)
	var got []gen.Kind
	for _, d := range found {
		if !slices.Contains(got, d.Kind) {
			got = append(got, d.Kind)
		}
		if d.Service != "orders" || !strings.HasPrefix(d.File, "migrations/") || d.Detail == "" || d.Mend == "" {
			t.Errorf("incomplete: %s", describe(d))
		}
	}
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Fatalf("kinds (-want +got):\n%s\n%v", diff, kinds(found))
	}
	if !strings.Contains(found[0].Detail, c.detail) {
		t.Errorf("detail is %q, want %q in it", found[0].Detail, c.detail)
	}
	if c.byHand {
		return
	}
	// A command may bring up another drift, such as that of a checksum file, but it must end.
	for range 8 {
		if found = mustCheck(t, service); len(found) == 0 {
			return
		}
		mend(t, service, found[0])
	}
	t.Errorf("still there after mending: %s", describe(found[0]))
}

// ours finds files whose names contain a text.
func ours(t *testing.T, dir, part string) []string {
	t.Helper()
	var found []string
	for _, name := range names(tree(t, dir)) {
		if strings.Contains(name, part) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no file has %q in its name", part)
	}
	return found
}

func editOurs(t *testing.T, dir, part string, change func(string) string) {
	t.Helper()
	edit(t, dir, ours(t, dir, part)[len(ours(t, dir, part))-1], change)
}

func removeOurs(t *testing.T, dir, part string) {
	t.Helper()
	for _, name := range ours(t, dir, part) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func renameOurs(t *testing.T, dir, part string, to func(string) string) {
	t.Helper()
	for _, name := range ours(t, dir, part) {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, to(name))); err != nil {
			t.Fatal(err)
		}
	}
}

func copyOurs(t *testing.T, dir, part string, to func(string) string) {
	t.Helper()
	for _, name := range ours(t, dir, part) {
		plant(t, dir, map[string]string{to(name): tree(t, dir)[name]})
	}
}

// renumber replaces the number of a file, in the form that its tool knows.
func renumber(name, number string) string {
	folder, file := filepath.Split(name)
	digits := strings.TrimLeft(strings.TrimPrefix(file, "V"), "0123456789.")
	switch {
	case strings.HasPrefix(file, "V"):
		return folder + "V" + number + digits
	case len(file)-len(digits) < len(number):
		return folder + strings.Repeat("9", len(file)-len(digits)) + digits
	default:
		return folder + number + digits
	}
}

// describe shows a drift without the bytes.
func describe(d gen.Drift) string {
	return fmt.Sprintf("%s: %s: %s: %s; %s", d.Service, d.File, d.Kind, d.Detail, d.Mend)
}
