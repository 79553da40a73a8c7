package main

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/internal/commandtest"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/command"
)

// Every command says what it changes and what it never does, and has examples; each of them
// stands in a script that runs it.
func TestHelpIsCompleteAndItsExamplesRun(t *testing.T) {
	t.Parallel()
	scripts := commandtest.Scripts(t, "testdata/*/*.txtar", "outbox-gen ")
	commandtest.Help(t, command.Tree(command.Process{Getenv: os.Getenv}), func(args string) bool { return scripts[args] })
}
