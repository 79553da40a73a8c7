package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryMutantCompiles checks the types of the packages that mutants change. That is all that
// can go wrong, and needs no build of each.
func TestEveryMutantCompiles(t *testing.T) {
	t.Parallel()
	list, err := mutants()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := findTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	program := load(t, tree, "./relay/...", "./consumers/...", "./hold/...")
	checked := 0
	for _, m := range list {
		files, err := m.apply(tree.Read)
		if err != nil {
			t.Errorf("mutant %s: %v", m.name, err)
			continue
		}
		changed := map[string]bool{}
		for name := range files {
			if strings.HasSuffix(name, ".go") {
				changed[path.Dir(name)] = true
			}
		}
		for folder := range changed {
			checked++
			if err := program.check(folder, files); err != nil {
				t.Errorf("mutant %s: %v", m.name, err)
			}
		}
	}
	if checked == 0 {
		t.Error("no mutant changes a package")
	}
	if program.check("relay", map[string]string{"relay/batch.go": "package relay\n\nvar wrong int = true\n"}) == nil {
		t.Error("what does not compile was not found")
	}
}

// program is what the packages under test are compiled against.
type program struct {
	root    string
	folders map[string]listed // by folder below the root
	files   *token.FileSet
	deps    types.Importer
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func load(t *testing.T, tree *tree, patterns ...string) *program {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles"}, patterns...)...)
	cmd.Dir = tree.Root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	p := &program{root: tree.Root, folders: map[string]listed{}, files: token.NewFileSet()}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		exports[l.ImportPath] = l.Export
		if folder, err := filepath.Rel(tree.Root, l.Dir); err == nil && filepath.IsLocal(folder) {
			p.folders[filepath.ToSlash(folder)] = l
		}
	}
	p.deps = importer.ForCompiler(p.files, "gc", func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) })
	return p
}

// check checks the types of the package in a folder, with some files replaced.
func (p *program) check(folder string, replaced map[string]string) error {
	l, ok := p.folders[folder]
	if !ok {
		return fmt.Errorf("there is no package in %s", folder)
	}
	var list []*ast.File
	for _, name := range l.GoFiles {
		var source any
		if text, ok := replaced[path.Join(folder, name)]; ok {
			source = text
		}
		file, err := parser.ParseFile(p.files, filepath.Join(l.Dir, name), source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		list = append(list, file)
	}
	_, err := (&types.Config{Importer: p.deps}).Check(l.ImportPath, p.files, list, nil)
	return err
}
