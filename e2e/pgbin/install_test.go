package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// shelf is a registry with one archive.
type shelf struct {
	content []byte
	asked   atomic.Int32
}

func (s *shelf) fetch(_ context.Context, _ release, dir string) (string, error) {
	s.asked.Add(1)
	path := filepath.Join(dir, "one.tgz")
	return path, os.WriteFile(path, s.content, 0o644)
}

// pack makes an archive as npm does: no links, and few files that may be run.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out strings.Builder
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for name, text := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return []byte(out.String())
}

func good(t *testing.T) []byte {
	return pack(t, map[string]string{
		"package/native/bin/initdb": "#!", "package/native/bin/postgres": "#!", "package/native/lib/libpq.so.5.18": "lib",
		"package/native/pg-symlinks.json": `[{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so"}]`,
	})
}

func pinned(content []byte) release {
	sum := sha512.Sum512(content)
	return release{"18.0.0", "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
}

func TestInstallAtOnceAndAgain(t *testing.T) {
	t.Parallel()
	content := good(t)
	s := &shelf{content: content}
	i := installer{base: filepath.Join(t.TempDir(), "cache"), npm: s, log: io.Discard}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			dir, err := i.install(t.Context(), pinned(content))
			if err != nil || dir != filepath.Join(i.base, "18.0.0", "native", "bin") {
				t.Errorf("install: %s, %v", dir, err)
			}
		})
	}
	all.Wait()
	asked := s.asked.Load()
	if _, err := i.install(t.Context(), pinned(content)); err != nil || s.asked.Load() != asked {
		t.Errorf("a later one fetched again: %v", err)
	}
	link, err := os.ReadFile(filepath.Join(i.base, "18.0.0", "native", "lib", "libpq.so"))
	if err != nil || string(link) != "lib" {
		t.Errorf("the link leads to %q, %v", link, err)
	}
	left, err := os.ReadDir(i.base)
	if err != nil || len(left) != 1 {
		t.Errorf("it left %v, %v", left, err)
	}
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		other bool // bytes that are not the pinned ones
		want  string
	}{
		"other bytes":     {files: map[string]string{"package/native/bin/initdb": "#!"}, other: true, want: "verify the package"},
		"no server":       {files: map[string]string{"package/native/pg-symlinks.json": "[]"}, want: "no initdb and postgres"},
		"a way out":       {files: map[string]string{"package/../../evil": "x"}, want: "unpack"},
		"a link that way": {files: map[string]string{"package/native/pg-symlinks.json": `[{"source":"../../x","target":"native/x"}]`}, want: "leads out of the package"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := pack(t, c.files)
			r := pinned(content)
			if c.other {
				r = pinned([]byte("something else"))
			}
			i := installer{base: t.TempDir(), npm: &shelf{content: content}, log: io.Discard}
			if _, err := i.install(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("install: %v, want %s", err, c.want)
			}
			if left, err := os.ReadDir(i.base); err != nil || len(left) != 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
}

func TestRunSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"9"}, {"18", "17"}} {
		var hinted *Error
		if err := run(t.Context(), args, io.Discard, io.Discard); !errors.As(err, &hinted) || hinted.Hint == "" {
			t.Errorf("run %v: %v", args, err)
		}
	}
}

// TestNpmMissing needs the variable PATH for itself.
func TestNpmMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var hinted *Error
	n := npm{log: io.Discard, euid: 1000, run: runCommand}
	if _, err := n.fetch(t.Context(), releases["18"], t.TempDir()); !errors.As(err, &hinted) || !strings.Contains(hinted.Hint, "apt-get install npm") {
		t.Errorf("fetch without npm: %v", err)
	}
	var ran []string
	n = npm{log: io.Discard, euid: 0, run: func(_ context.Context, _ io.Writer, _, name string, args ...string) error {
		ran = append(ran, name+" "+strings.Join(args, " "))
		return nil
	}}
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return // root elsewhere gets the same hint as everybody
	}
	if _, err := n.fetch(t.Context(), releases["18"], t.TempDir()); err == nil || len(ran) != 3 || !strings.HasSuffix(ran[1], "install npm") {
		t.Errorf("root on Debian ran %v, %v", ran, err)
	}
}
