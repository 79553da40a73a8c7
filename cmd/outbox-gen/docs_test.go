package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/command"
)

// The reference that is checked in is what the commands say; UPDATE_SCRIPTS rewrites it, as it
// does what scripts compare.
func TestReferenceIsThatOfTheCommands(t *testing.T) {
	t.Parallel()
	const folder, name = "../../docs/reference", "outbox-gen.md"
	dir := t.TempDir()
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		dir = folder
	}
	var stdout, stderr bytes.Buffer
	code := command.Main(command.Process{Args: []string{"docs", "markdown", "--dir", dir}, Stdout: &stdout, Stderr: &stderr, Getenv: os.Getenv})
	if code != exit.OK || stdout.String() != filepath.Join(dir, name)+"\n" {
		t.Fatalf("outbox-gen docs markdown exited with %d, wrote %q and %q", code, stdout.String(), stderr.String())
	}
	made, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, kept) {
		t.Errorf("docs/reference/%s is not what the commands say: run go run ./cmd/outbox-gen docs markdown --dir docs/reference", name)
	}
}
