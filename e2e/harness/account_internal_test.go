package harness

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAccountCannotEnterClosedDirectory(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(openTempDir(t), "closed")
	inside := filepath.Join(closed, "inside")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	stranger := &account{name: "stranger", uid: 4_000_000, gid: 4_000_000}
	if err := stranger.canEnter(inside); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	err := stranger.canEnter(inside)
	var hinted *Error
	if !errors.As(err, &hinted) || !strings.Contains(err.Error(), closed) || !strings.Contains(hinted.Hint, "TMPDIR") {
		t.Errorf("canEnter returned %v", err)
	}
	owner := &account{name: "owner", uid: uint32(os.Getuid()), gid: uint32(os.Getgid())}
	if err := owner.canEnter(inside); err != nil {
		t.Errorf("the owner can't enter: %v", err)
	}
	var ourselves *account
	if err := ourselves.canEnter(inside); err != nil {
		t.Error(err)
	}
}
