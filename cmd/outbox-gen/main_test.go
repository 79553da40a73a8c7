package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain puts a program outbox-gen on the path, which is this test binary: so scripts and
// the shell commands in reports run what was just compiled.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"outbox-gen": main})
}
