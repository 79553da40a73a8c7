package harness

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSweepRemovesOnlyWhatHasNoOwner(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	mk := func(name string) *workDir {
		w := &workDir{path: filepath.Join(parent, name)}
		if err := os.Mkdir(w.path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := w.claim(); err != nil {
			t.Fatal(err)
		}
		return w
	}
	abandoned, live, other := mk(workPrefix+"pg-1"), mk(workPrefix+"pg-2"), mk("other-1")
	defer live.lock.Close()
	for _, w := range []*workDir{abandoned, other} {
		if err := w.lock.Close(); err != nil { // as the kernel does when the owner is killed
			t.Fatal(err)
		}
	}

	sweepWork(parent, time.Now())
	for _, w := range []*workDir{abandoned, live, other} {
		wantExists(t, w.path, true) // too young
	}
	sweepWork(parent, time.Now().Add(2*youngWork))
	wantExists(t, abandoned.path, false)
	wantExists(t, live.path, true)
	wantExists(t, other.path, true)
}

func TestWorkDirRemove(t *testing.T) {
	t.Parallel()
	w, err := newWorkDir("", "test")
	if err != nil {
		t.Fatal(err)
	}
	wantExists(t, w.path, true)
	if err := w.remove(); err != nil {
		t.Fatal(err)
	}
	wantExists(t, w.path, false)
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

func wantExists(t *testing.T, path string, want bool) {
	t.Helper()
	_, err := os.Stat(path)
	if got := !errors.Is(err, fs.ErrNotExist); got != want {
		t.Errorf("%s exists: %v, want %v", filepath.Base(path), got, want)
	}
}
