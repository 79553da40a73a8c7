package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// cacheDir is where the binaries are kept.
func cacheDir() (string, error) {
	base := "/var/cache"
	if os.Geteuid() != 0 {
		var err error
		if base, err = os.UserCacheDir(); err != nil {
			return "", &Error{Op: "find the cache", Err: err, Hint: "set XDG_CACHE_HOME or HOME"}
		}
	}
	return filepath.Join(base, "holdfast", "postgres"), nil
}

// installer puts a release into a folder of base.
type installer struct {
	base string
	npm  fetcher
	log  io.Writer
}

// fetcher brings the archive of a release into a folder.
type fetcher interface {
	fetch(ctx context.Context, r release, dir string) (archive string, err error)
}

// install returns the directory of the binaries, and puts them there first if they are not.
func (i installer) install(ctx context.Context, r release) (string, error) {
	home := filepath.Join(i.base, r.version)
	if whole(home) {
		return binDir(home), nil
	}
	if err := os.MkdirAll(i.base, 0o755); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	fmt.Fprintf(i.log, "pgbin: fetching %s %s into %s\n", packageName, r.version, i.base)
	work, err := os.MkdirTemp(i.base, ".new-")
	if err != nil {
		return "", fmt.Errorf("make a folder in the cache: %w", err)
	}
	err = i.fill(ctx, r, work, home)
	if err = errors.Join(err, os.RemoveAll(work)); err != nil {
		return "", err
	}
	return binDir(home), nil
}

// fill fetches and unpacks in the work folder, and renames the result. Somebody else may have
// been faster, with the same bytes.
func (i installer) fill(ctx context.Context, r release, work, home string) error {
	archive, err := i.npm.fetch(ctx, r, work)
	if err != nil {
		return err
	}
	if err := verify(archive, r.integrity); err != nil {
		return err
	}
	tree := filepath.Join(work, "tree")
	if err := unpack(archive, tree); err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
	}
	if err := link(tree); err != nil {
		return fmt.Errorf("make the links of %s: %w", filepath.Base(archive), err)
	}
	if !whole(tree) {
		return fmt.Errorf("%s %s has no initdb and postgres", packageName, r.version)
	}
	err = os.Rename(tree, home)
	if errors.Is(err, fs.ErrExist) && whole(home) {
		return nil
	}
	return err
}

func binDir(home string) string { return filepath.Join(home, "native", "bin") }

// whole reports whether a folder holds what is needed. It is renamed when it does, so no
// half of it is ever seen.
func whole(home string) bool {
	for _, program := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(binDir(home), program))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}
