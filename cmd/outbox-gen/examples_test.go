package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/command"
)

// Every command says what it changes and what it never does, and has examples; each of them
// stands in a script that runs it.
func TestHelpIsCompleteAndItsExamplesRun(t *testing.T) {
	t.Parallel()
	scripts := map[string]bool{}
	files, err := filepath.Glob("testdata/*/*.txtar")
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
			if args, found := strings.CutPrefix(strings.TrimSpace(line), "outbox-gen "); found {
				scripts[args] = true
			}
		}
	}
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
			args, found := strings.CutPrefix(strings.TrimSpace(example), "outbox-gen ")
			if !found || !scripts[args] {
				t.Errorf("no script runs the example of %s: %s", c.CommandPath(), example)
			}
		}
	}
	visit(command.Tree(command.Process{Getenv: os.Getenv}))
}
