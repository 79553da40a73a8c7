package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// verify compares an archive with its pinned digest.
func verify(archive, integrity string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	digest := sha512.New()
	_, err = io.Copy(digest, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	got := "sha512-" + base64.StdEncoding.EncodeToString(digest.Sum(nil))
	if subtle.ConstantTimeCompare([]byte(got), []byte(integrity)) == 1 {
		return nil
	}
	return &Error{
		Op: "verify the package", Err: fmt.Errorf("its digest is %s, pinned is %s", got, integrity),
		Hint: "do not use it; ask the registry that npm is set up with, or a proxy in between",
	}
}

// unpack writes the files of an npm archive, which all lie below package/, into a folder.
func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is buffered
	packed, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for files := tar.NewReader(packed); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && head.Typeflag == tar.TypeReg {
			err = write(root, head, files)
		}
		if err != nil {
			return err
		}
	}
}

// write writes one file; the root lets none out of its folder. Programs may be run by
// everybody, because Postgres runs as another user than we do.
func write(root *os.Root, head *tar.Header, content io.Reader) error {
	_, name, inPackage := strings.Cut(head.Name, "/")
	if !inPackage {
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if head.Mode&0o111 != 0 || filepath.Base(filepath.Dir(name)) == "bin" {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(mode), f.Close())
}

// link makes the symbolic links, which an npm package can't hold: the package lists them in a
// file, for a script of its own that is not run.
func link(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is buffered
	text, err := root.ReadFile("native/pg-symlinks.json")
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	for _, l := range links {
		to, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err == nil && (!filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target)) {
			err = fmt.Errorf("%s to %s leads out of the package", l.Target, l.Source)
		}
		if err == nil {
			err = root.Symlink(to, l.Target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
