package commandtest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// Reference wants the reference of a program that is checked in to be what its commands say. UPDATE_SCRIPTS
// rewrites it, as it does what scripts compare.
func Reference(t *testing.T, program string, run func(args []string, stdout, stderr io.Writer) exit.Code) {
	t.Helper()
	const folder = "../../docs/reference"
	name := program + ".md"
	dir := t.TempDir()
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		dir = folder
	}
	var stdout, stderr bytes.Buffer
	code := run([]string{"docs", "markdown", "--dir", dir}, &stdout, &stderr)
	if code != exit.OK || stdout.String() != filepath.Join(dir, name)+"\n" {
		t.Fatalf("%s docs markdown exited with %d, wrote %q and %q", program, code, stdout.String(), stderr.String())
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
		t.Errorf("docs/reference/%s is not what the commands say: run go run ./cmd/%s docs markdown --dir docs/reference", name, program)
	}
}
