package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// linkClient puts the psql of this machine beside the server, for tests that want one there:
// the package has none, and psql talks to servers that are newer than itself. It is no error
// if the machine has none either; then those tests will say what they lack.
func linkClient(dir string, log io.Writer) error {
	psql := filepath.Join(dir, "psql")
	if _, err := os.Stat(psql); err == nil {
		return nil
	}
	found := findClient()
	if found == "" {
		fmt.Fprintln(log, "pgbin: found no psql to put beside the server; on Debian: apt-get install postgresql-client")
		return nil
	}
	err := os.Symlink(found, psql)
	if errors.Is(err, fs.ErrExist) { // a link to one that is gone, or somebody was faster
		if _, gone := os.Stat(psql); gone != nil {
			err = errors.Join(os.Remove(psql), os.Symlink(found, psql))
		} else {
			err = nil
		}
	}
	return err
}

// findClient prefers the program itself to the wrapper that Debian has in PATH, which wants a
// cluster of its own making.
func findClient() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/psql") // the pattern is good
	if len(found) > 0 {
		return slices.Max(found)
	}
	path, err := exec.LookPath("psql")
	if err != nil {
		return ""
	}
	return path
}
