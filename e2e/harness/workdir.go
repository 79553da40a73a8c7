package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	workPrefix = "holdfast-"
	workLock   = ".lock"

	// youngWork protects a directory whose owner has made it and not yet
	// locked it.
	youngWork = time.Minute
)

// workDir is a temporary directory of a server. Its owner holds a lock on a
// file in it for as long as it lives, so that what a killed process left
// behind can be told from what is in use, also between containers that share
// the file system.
type workDir struct {
	path string
	lock *os.File
}

var sweepOnce sync.Once

// newWorkDir makes a directory below parent, or where temporary files go when
// that is empty.
func newWorkDir(parent, kind string) (*workDir, error) {
	sweepOnce.Do(func() {
		sweepWork(os.TempDir(), time.Now())
		if memoryPath != "" { // full or not: it may be full of what is left over
			sweepWork(memoryPath, time.Now())
		}
	})
	path, err := os.MkdirTemp(parent, workPrefix+kind+"-")
	if err != nil {
		return nil, err
	}
	w := &workDir{path: path}
	if err := w.claim(); err != nil {
		_ = os.RemoveAll(path)
		return nil, fmt.Errorf("claim %s: %w", path, err)
	}
	return w, nil
}

func (w *workDir) claim() error {
	path := filepath.Join(w.path, workLock)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	f, err := tryLock(path)
	if err != nil {
		return err
	}
	if f == nil {
		return fmt.Errorf("%s is locked by another process", path)
	}
	w.lock = f
	return nil
}

// remove deletes the directory, then gives up the claim.
func (w *workDir) remove() error {
	err := os.RemoveAll(w.path)
	_ = w.lock.Close()
	return err
}

// sweepWork removes directories whose owner is gone. It is a courtesy: what it
// can't remove, for example another user's, it leaves.
func sweepWork(parent string, now time.Time) {
	locks, err := filepath.Glob(filepath.Join(parent, workPrefix+"*", workLock))
	if err != nil {
		return
	}
	for _, path := range locks {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || now.Sub(info.ModTime()) < youngWork {
			continue
		}
		f, err := tryLock(path)
		if err != nil || f == nil {
			continue
		}
		_ = os.RemoveAll(filepath.Dir(path))
		_ = f.Close()
	}
}
