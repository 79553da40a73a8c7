package gen_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree reads all files below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatalf("read %s: %v", dir, err)
	}
	return files
}

// plant writes files below a folder, and makes their folders.
func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// root makes an empty repository with a folder for migrations.
func root(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "migrations"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func names(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }

// pick returns the one file whose name contains a text.
func pick(t *testing.T, dir, part string) string {
	t.Helper()
	var found []string
	for name := range tree(t, dir) {
		if strings.Contains(name, part) {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d files have %q in their names: %v", len(found), part, found)
	}
	return found[0]
}

// edit changes a file.
func edit(t *testing.T, dir, name string, change func(string) string) {
	t.Helper()
	path := filepath.Join(dir, name)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(change(string(content))), 0o644); err != nil {
		t.Fatal(err)
	}
}
