package commandtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Scripts returns the lines of the scripts that a pattern names, as far as they begin with one of the prefixes:
// what comes behind it.
func Scripts(t *testing.T, pattern string, prefixes ...string) map[string]bool {
	t.Helper()
	lines := map[string]bool{}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("find scripts: %d, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(text), "\n-- ")
		for line := range strings.Lines(script) {
			for _, prefix := range prefixes {
				if args, found := strings.CutPrefix(strings.TrimSpace(line), prefix); found {
					lines[args] = true
				}
			}
		}
	}
	return lines
}

// Help wants every command to say what it changes and what it never does, and to have examples,
// each of which runs somewhere.
func Help(t *testing.T, root *cobra.Command, runs func(args string) bool) {
	t.Helper()
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		for _, verb := range c.Commands() {
			visit(verb)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Example == "" {
			t.Errorf("%s has the short text %q and the example %q", c.CommandPath(), c.Short, c.Example)
		}
		if c.HasParent() && (!strings.Contains(c.Long, "Changes: ") || !strings.Contains(c.Long, "\nNever:   ")) {
			t.Errorf("%s does not say what it changes and never does: %q", c.CommandPath(), c.Long)
		}
		for example := range strings.Lines(c.Example) {
			args, found := strings.CutPrefix(strings.TrimSpace(example), root.Name()+" ")
			if !found || !runs(args) {
				t.Errorf("no script runs the example of %s: %s", c.CommandPath(), example)
			}
		}
	}
	visit(root)
}
