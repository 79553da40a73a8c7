package gen

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// target is a change and the place of its file.
type target struct {
	root   *os.Root
	name   string
	change Change
}

// staging writes files in two steps: whole under a temporary name beside the place of the
// file, then renamed, when all of them are there.
type staging struct {
	staged []stagedFile
	done   int // how many were renamed
}

type stagedFile struct {
	target
	temporary string
}

// stage writes the content under the temporary name.
func (s *staging) stage(t target) error {
	one := stagedFile{t, path.Join(path.Dir(t.name), ".outbox-gen-"+rand.Text()[:12]+".tmp")}
	f, err := t.root.OpenFile(one.temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", t.change.Path, err)
	}
	s.staged = append(s.staged, one)
	_, err = f.Write(t.change.After)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", t.change.Path, err)
	}
	return nil
}

// commit renames everything. When one rename fails, the ones before it are undone.
func (s *staging) commit() error {
	for _, one := range s.staged {
		if err := one.publish(); err != nil {
			return errors.Join(fmt.Errorf("write %s: %w", one.change.Path, err), s.undo(), s.discard())
		}
		s.done++
	}
	return nil
}

// publish gives the file its name, if the place still is as it was planned for.
func (f stagedFile) publish() error {
	now, err := f.root.ReadFile(f.name)
	switch {
	case f.change.Action == Create && err == nil:
		return fmt.Errorf("another process made the file: %w", fs.ErrExist)
	case f.change.Action == Update && err == nil && !bytes.Equal(now, f.change.Before):
		return errors.New("another process changed the file")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return f.root.Rename(f.temporary, f.name)
}

// undo takes back what was renamed, newest first.
func (s *staging) undo() error {
	var failed []error
	for ; s.done > 0; s.done-- {
		one := s.staged[s.done-1]
		if one.change.Action == Create {
			failed = append(failed, one.root.Remove(one.name))
			continue
		}
		var back staging
		change := one.change
		change.Before, change.After = change.After, change.Before
		if err := back.stage(target{one.root, one.name, change}); err != nil {
			failed = append(failed, err, back.discard())
			continue
		}
		failed = append(failed, back.commit())
	}
	return errors.Join(failed...)
}

// discard removes the temporary files that were not renamed.
func (s *staging) discard() error {
	var failed []error
	for _, one := range s.staged[s.done:] {
		if err := one.root.Remove(one.temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
