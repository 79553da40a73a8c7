package main

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/internal/commandtest"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/command"
)

// runElsewhere are the examples that no script can hold, and the test that runs them.
var runElsewhere = map[string]string{
	"run --stream ORDERS": "run_test.go", // it does not end
}

// Every command says what it changes and what it never does, and has examples; each of them
// stands in a script that runs it.
func TestHelpIsCompleteAndItsExamplesRun(t *testing.T) {
	t.Parallel()
	scripts := commandtest.Scripts(t, "testdata/script/*.txtar", "relay ", "exits 1 ")
	commandtest.Help(t, command.Tree(command.Process{}), func(args string) bool {
		args, _, _ = strings.Cut(args, " > ")
		return scripts[args] || runElsewhere[args] != ""
	})
}
