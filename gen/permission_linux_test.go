package gen_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/gen"
)

// TestUnreadableFolder looks at folders with the eyes of somebody who may not. For root, to
// whom no folder is closed, the thread takes another user's identity for files.
func TestUnreadableFolder(t *testing.T) {
	c := config(root(t), gen.Goose)
	for dir := c.Root; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	closed := filepath.Join(c.Root, "migrations")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Chmod(closed, 0o755); err != nil {
			t.Error(err)
		}
	}()
	if os.Geteuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		const nobody = 65534
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Setfsuid(0); err != nil {
				t.Error(err)
			}
		}()
	}
	_, checked := gen.Check(c)
	_, wrote := gen.Write(t.Context(), c)
	for action, err := range map[string]error{"check": checked, "write": wrote} {
		var problem *gen.ConfigError
		if !errors.As(err, &problem) || problem.Problems[0].Message != "migrations can't be read: permission denied" {
			t.Errorf("%s: error is %v", action, err)
		}
	}
}
