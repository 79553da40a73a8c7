package arch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestImports holds the repository against the table.
func TestImports(t *testing.T) {
	t.Parallel()
	g := load(t)
	for _, v := range check(g) {
		t.Error(v)
	}
}

// TestImportsOfTheRepositoryCanFail plants one import in the real graph, so
// that a loader which forgets imports cannot pass for an empty list of faults.
func TestImportsOfTheRepositoryCanFail(t *testing.T) {
	t.Parallel()
	g := load(t)
	const planted, server = module + "/gen", "github.com/nats-io/nats-server/v2/server"
	p := g[planted]
	p.imports = append(slices.Clone(p.imports), server)
	g[planted] = p

	var got []string
	for _, v := range check(g) {
		if v.pkg == planted && v.target == server {
			got = append(got, v.rule)
		}
	}
	want := []string{"outside", "producers link no nats", "nats-server in tests only"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules that saw the planted import (-want +got):\n%s", diff)
	}
}

// TestImportRules breaks each rule once in a made-up repository.
func TestImportRules(t *testing.T) {
	t.Parallel()
	if found := check(sound()); len(found) > 0 {
		t.Fatalf("the sound graph breaks a rule: %v", found)
	}
	seen := map[string]bool{}
	for _, c := range importCases {
		for _, rule := range c.want {
			seen[rule] = true
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := sound()
			maps.Copy(g, c.add)
			var got []string
			for _, v := range check(g) {
				if !slices.Contains(got, v.rule) {
					got = append(got, v.rule)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(slices.Sorted(slices.Values(c.want)), got); diff != "" {
				t.Errorf("rules broken (-want +got):\n%s", diff)
			}
		})
	}
	for _, rule := range nevers {
		if !seen[rule.name] {
			t.Errorf("no case breaks the rule %q", rule.name)
		}
	}
}

// TestImportHintNamesTheDetour: without the chain a transitive violation is a riddle.
func TestImportHintNamesTheDetour(t *testing.T) {
	t.Parallel()
	g := sound()
	maps.Copy(g, graph{
		"github.com/jackc/pgx/v5":    {imports: []string{"example.com/innocent"}},
		"example.com/innocent":       {imports: []string{"github.com/nats-io/nats.go"}},
		"github.com/nats-io/nats.go": {},
	})
	var got []string
	for _, v := range check(g) {
		if v.pkg == module+"/hold" {
			got = append(got, v.hint)
		}
	}
	want := []string{"a service that stages events must not carry a broker client; via " + module +
		"/hold -> github.com/jackc/pgx/v5 -> example.com/innocent -> github.com/nats-io/nats.go"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hints for hold (-want +got):\n%s", diff)
	}
}

// load asks the go command for this module's packages and all that they link.
func load(t *testing.T) graph {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	list.Dir = root(t)
	var stdout, stderr bytes.Buffer
	list.Stdout, list.Stderr = &stdout, &stderr
	if err := list.Run(); err != nil {
		t.Fatalf("list packages: %v\n%s", err, stderr.String())
	}
	g := graph{}
	for decoder := json.NewDecoder(&stdout); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("decode the go command's list: %v", err)
		}
		g[p.ImportPath] = pkg{imports: p.Imports, testImports: slices.Concat(p.TestImports, p.XTestImports)}
	}
	if _, found := g[module+"/e2e/arch"]; !found {
		t.Fatalf("list packages: %d found, and this one is not among them", len(g))
	}
	return g
}
