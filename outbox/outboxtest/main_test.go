package outboxtest_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// childEnv makes the test binary run TestChild alone, in one of its ways.
const childEnv = "HOLDFAST_OUTBOXTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "without main" {
		os.Exit(m.Run())
	}
	outboxtest.Main(m)
}

// TestChild is what the child processes of TestMainOfAPackage run.
func TestChild(t *testing.T) {
	switch os.Getenv(childEnv) {
	case "clean", "without main":
		outboxtest.NewDatabase(t)
		outboxtest.NewNATS(t)
	case "leak":
		outboxtest.NewDatabase(t)
		go func() { select {} }()
	case "fail":
		outboxtest.NewDatabase(t)
		t.Error("as it should")
	}
}

func TestMainOfAPackage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode string
		code int
		says string
	}{
		{"clean", 0, "PASS"},
		{"leak", 1, "the tests left goroutines behind"},
		{"fail", 1, "as it should"},
		{"without main", 1, "hint: add func TestMain(m *testing.M) { outboxtest.Main(m) }"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			temp := openTempDir(t)
			child := exec.Command(os.Args[0], "-test.run=^TestChild$")
			child.Env = append(os.Environ(), childEnv+"="+c.mode, "TMPDIR="+temp)
			output, err := child.CombinedOutput()
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != c.code || !strings.Contains(string(output), c.says) {
				t.Errorf("exit code %d, want %d; output without %q:\n%s", code, c.code, c.says, output)
			}
			left, err := filepath.Glob(filepath.Join(temp, "holdfast-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("the process left %v, %v", left, err)
			}
		})
	}
}

// openTempDir is a t.TempDir that other users can enter, which needs its parent
// opened too.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
