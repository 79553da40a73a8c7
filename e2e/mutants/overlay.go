package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/overlay"
)

// tree is the source that is mutated.
type tree struct{ *overlay.Tree }

// findTree finds the module that the working directory is in.
func findTree(ctx context.Context) (*tree, error) {
	found, err := overlay.Find(ctx)
	return &tree{found}, err
}

// mutate writes the mutated files into a directory, and returns them by the names of the true ones.
func (t *tree) mutate(m *mutant, dir string) (map[string]string, error) {
	files, err := m.apply(t.Read)
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for file, text := range files {
		mutated := filepath.Join(dir, strconv.Itoa(len(replace)+1)+"-"+filepath.Base(file))
		if err := os.WriteFile(mutated, []byte(text), 0o644); err != nil {
			return nil, err
		}
		replace[filepath.Join(t.Root, filepath.FromSlash(file))] = mutated
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
	cmd.Dir = t.Root
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}
