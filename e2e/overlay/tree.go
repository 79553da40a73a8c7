package overlay

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Tree is the source of this module.
type Tree struct{ Root string }

// Find finds the module that the working directory is in.
func Find(ctx context.Context) (*Tree, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module, which must hold the working directory: %w", err)
	}
	return &Tree{Root: strings.TrimSpace(string(root))}, nil
}

// Read returns the source of a file.
func (t *Tree) Read(file string) (string, error) {
	text, err := os.ReadFile(t.path(file))
	return string(text), err
}

func (t *Tree) path(file string) string { return filepath.Join(t.Root, filepath.FromSlash(file)) }

// Build builds a package with texts in place of files, or beside them, by their names below the
// root. dir takes what the build needs, and must not be used by another build.
func (t *Tree) Build(ctx context.Context, dir, output, pkg string, files map[string]string) error {
	args := []string{"build", "-o", output}
	if len(files) > 0 {
		overlay, err := t.write(dir, files)
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

// write writes the texts into a directory, and the file that tells the go command of them. It
// returns the name of that.
func (t *Tree) write(dir string, files map[string]string) (string, error) {
	replace := map[string]string{}
	for file, text := range files {
		stand := filepath.Join(dir, strconv.Itoa(len(replace)+1)+"-"+filepath.Base(file))
		if err := os.WriteFile(stand, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[t.path(file)] = stand
	}
	config, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, config, 0o644)
}
