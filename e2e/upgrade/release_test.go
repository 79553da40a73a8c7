package upgrade_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// root is the root of the repository.
const root = "../.."

// release is this tree, or this tree with the files of testdata/NAME/tree in place of its own.
type release struct{ name string }

// programs are those of a release.
type programs struct {
	release   release
	outboxGen string
	relay     string
	plan      []file
}

// file is a migration of a release.
type file struct {
	component canonical.Component
	version   int
	sql       string
}

// build compiles the programs of a release, and asks them for the migrations.
func (r release) build(t *testing.T) programs {
	t.Helper()
	dir := t.TempDir()
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	if r != this {
		args = append(args, "-overlay", r.overlay(t, dir))
	}
	command(t, root, "go", append(args, "./cmd/outbox-gen", "./cmd/relay")...)
	p := programs{release: r, outboxGen: filepath.Join(dir, "outbox-gen"), relay: filepath.Join(dir, "relay")}
	for line := range strings.Lines(command(t, dir, p.outboxGen, "list", "-o", "name")) {
		var f file
		if _, err := fmt.Sscan(line, &f.component, &f.version); err != nil {
			t.Fatalf("outbox-gen list says %q: %v", line, err)
		}
		f.sql = command(t, dir, p.outboxGen, "show", string(f.component), fmt.Sprint(f.version))
		p.plan = append(p.plan, f)
	}
	return p
}

// versions returns the newest version of each component.
func (p programs) versions() versions {
	newest := versions{}
	for _, f := range p.plan {
		newest[f.component] = f.version
	}
	return newest
}

// without returns the migrations that another release does not have.
func (p programs) without(other programs) []file {
	var more []file
	has := other.versions()
	for _, f := range p.plan {
		if f.version > has[f.component] {
			more = append(more, f)
		}
	}
	return more
}

// overlay writes what the go command needs to see the release in place of the tree.
func (r release) overlay(t *testing.T, dir string) string {
	t.Helper()
	replace := map[string]string{}
	home := filepath.Join("testdata", r.name)
	err := fs.WalkDir(os.DirFS(filepath.Join(home, "tree")), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		here, removed := strings.CutSuffix(absolute(t, root, name), ".removed")
		if replace[here] = ""; !removed {
			replace[here] = absolute(t, home, "tree", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(replace, r.snapshots(t, home, dir))
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// snapshots patches what relays expect of the catalog, for every version of Postgres.
func (r release) snapshots(t *testing.T, home, dir string) map[string]string {
	t.Helper()
	var patch map[string]map[string]json.RawMessage
	unmarshal(t, filepath.Join(home, "snapshot.json"), &patch)
	replace := map[string]string{}
	files, err := filepath.Glob(filepath.Join(root, "schema", "catalog", "snapshot", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d snapshots, %v", len(files), err)
	}
	for _, path := range files {
		var whole map[string]json.RawMessage
		unmarshal(t, path, &whole)
		var components map[string]map[string]json.RawMessage
		if err := json.Unmarshal(whole["components"], &components); err != nil {
			t.Fatal(err)
		}
		for component, objects := range patch {
			for key, value := range objects {
				components[component][key] = value
				if bytes.Equal(value, []byte("null")) {
					delete(components[component], key)
				}
			}
		}
		whole["components"] = marshal(t, components)
		patched := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(patched, marshal(t, whole), 0o644); err != nil {
			t.Fatal(err)
		}
		replace[absolute(t, path)] = patched
	}
	return replace
}

func unmarshal(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func absolute(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command runs a command that must succeed, and returns what it printed.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", filepath.Base(name), args, err, output, complaint.String())
	}
	return string(output)
}
