package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// installer puts the Debian package postgresql on a machine that has none.
type installer struct {
	root   string // prefix of the files it reads and writes; empty outside tests
	euid   int
	search search
	run    func(ctx context.Context, log io.Writer, name string, args ...string) error
}

// locate returns the directory of the Postgres binaries, and installs them
// first when there are none and this process may.
func locate(ctx context.Context, explicit string, log io.Writer) (string, error) {
	find := search{getenv: os.Getenv}
	dir, err := find.find(explicit)
	if !errors.Is(err, errNoPostgres) {
		return dir, err
	}
	install := installer{euid: os.Geteuid(), search: find, run: runCommand}
	if !install.allowed() {
		return "", err
	}
	return install.install(ctx, log)
}

// allowed says whether this is Debian, or made from it, and we are root.
func (i installer) allowed() bool {
	_, err := os.Stat(filepath.Join(i.root, "/etc/debian_version"))
	return err == nil && i.euid == 0
}

// install installs and returns the directory of the binaries. The packages of
// one "go test ./..." are processes that get here together: the first one
// installs, the others wait and find the result.
func (i installer) install(ctx context.Context, log io.Writer) (string, error) {
	unlock, err := lockFile(ctx, filepath.Join(i.root, "/var/lib/dpkg"))
	if err != nil {
		return "", fmt.Errorf("install postgres: %w", err)
	}
	defer unlock()
	if dir, err := i.search.find(""); !errors.Is(err, errNoPostgres) {
		return dir, err
	}
	fmt.Fprintln(log, "harness: found no postgres; installing the Debian package postgresql")
	if err := i.packages(ctx, log); err != nil {
		return "", &Error{Op: "install postgres", Err: err, Hint: installHint}
	}
	dir, err := i.search.find("")
	if err == nil {
		fmt.Fprintln(log, "harness: installed postgres in", dir)
	}
	return dir, err
}

// packages installs postgresql-common on its own first, because the setting
// that keeps the server package from creating and starting a cluster is in a
// file of it. That file is put back as it was.
func (i installer) packages(ctx context.Context, log io.Writer) (err error) {
	if err := i.aptGet(ctx, log, "update"); err != nil {
		return err
	}
	if err := i.aptGet(ctx, log, "install", "postgresql-common"); err != nil {
		return err
	}
	path := filepath.Join(i.root, "/etc/postgresql-common/createcluster.conf")
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintln(log, "harness: create_main_cluster = false in", path, "during the installation")
	during := append(bytes.Clone(before), "\ncreate_main_cluster = false\n"...)
	if err := os.WriteFile(path, during, 0o644); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, before, 0o644)) }()
	return i.aptGet(ctx, log, "install", "postgresql")
}

// aptGet runs apt-get without questions, and waits when another one is running.
func (i installer) aptGet(ctx context.Context, log io.Writer, verb string, packages ...string) error {
	args := append([]string{"-q", "-y", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends", verb}, packages...)
	fmt.Fprintln(log, "harness: apt-get", strings.Join(append([]string{verb}, packages...), " "))
	return i.run(ctx, log, "apt-get", args...)
}

func runCommand(ctx context.Context, log io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %v: %w", name, args, err)
	}
	return nil
}
