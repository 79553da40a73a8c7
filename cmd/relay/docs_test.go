package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/command"
)

// The reference that is checked in is what the commands say; UPDATE_SCRIPTS rewrites it, as it
// does what scripts compare.
func TestReferenceIsThatOfTheCommands(t *testing.T) {
	t.Parallel()
	const folder, name = "../../docs/reference", "relay.md"
	dir := t.TempDir()
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		dir = folder
	}
	var stdout, stderr bytes.Buffer
	code := command.Main(command.Process{Args: []string{"docs", "markdown", "--dir", dir}, Stdout: &stdout, Stderr: &stderr})
	if code != exit.OK || stdout.String() != filepath.Join(dir, name)+"\n" {
		t.Fatalf("relay docs markdown exited with %d, wrote %q and %q", code, stdout.String(), stderr.String())
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
		t.Errorf("docs/reference/%s is not what the commands say: run go run ./cmd/relay docs markdown --dir docs/reference", name)
	}
}
