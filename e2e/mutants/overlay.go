package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// tree is the source that is mutated.
type tree struct{ root string }

// findTree finds the module that the working directory is in.
func findTree(ctx context.Context) (*tree, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module, which must hold the working directory: %w", err)
	}
	return &tree{root: strings.TrimSpace(string(root))}, nil
}

func (t *tree) read(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(t.root, filepath.FromSlash(file)))
	return string(text), err
}

// mutate writes the mutated files into a directory, and returns them by the names of the true ones.
func (t *tree) mutate(m *mutant, dir string) (map[string]string, error) {
	files, err := m.apply(t.read)
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for file, text := range files {
		mutated := filepath.Join(dir, strconv.Itoa(len(replace)+1)+"-"+filepath.Base(file))
		if err := os.WriteFile(mutated, []byte(text), 0o644); err != nil {
			return nil, err
		}
		replace[filepath.Join(t.root, filepath.FromSlash(file))] = mutated
	}
	return replace, nil
}

// overlay writes the mutated files into a directory, and what go build needs to take them in
// place of the true ones, with the clock of chaos. It returns the name of that.
func (t *tree) overlay(ctx context.Context, m *mutant, dir string) (string, error) {
	files, err := t.mutate(m, dir)
	if err != nil {
		return "", err
	}
	replace, err := fault.SkewedClock(ctx, dir)
	if err != nil {
		return "", err
	}
	maps.Copy(replace, files)
	return fault.WriteOverlay(dir, replace)
}

// build builds a package; with a mutant in it, and a clock that chaos can set wrong, unless that is nil.
func (t *tree) build(ctx context.Context, m *mutant, dir, output, pkg string) error {
	args := []string{"build", "-o", output}
	if m != nil {
		overlay, err := t.overlay(ctx, m, dir)
		if err != nil {
			return err
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = t.root
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}
