package harness

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// EnvBinDir is the environment variable that names the directory of initdb and
// postgres, ahead of PATH and of the well-known places.
const EnvBinDir = "HOLDFAST_PG_BIN"

// oldestMajor is the oldest Postgres that the schema works on. Older ones in
// the well-known places are passed over, so that a forgotten version doesn't
// hide behind a confusing SQL error.
const oldestMajor = 14

// places are where packages put Postgres without linking it into PATH. Within
// one place the newest major version wins.
var places = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
}

const installHint = "install Postgres 14 or newer (Debian and Ubuntu: apt-get install postgresql; " +
	"macOS: brew install postgresql@18), or set " + EnvBinDir + " to the directory that holds initdb and postgres"

// search looks for the Postgres binaries.
type search struct {
	root   string // prefix of the well-known places; empty outside tests
	getenv func(string) string
}

// find returns the first directory that holds initdb and postgres: explicit,
// the environment variable, PATH, the well-known places. A directory that was
// named and is wrong is an error: using another version in silence would make
// a test prove the wrong thing.
func (s search) find(explicit string) (string, error) {
	if explicit != "" {
		return named("PostgresOptions.BinDir", explicit)
	}
	if dir := s.getenv(EnvBinDir); dir != "" {
		return named(EnvBinDir, dir)
	}
	for _, dir := range filepath.SplitList(s.getenv("PATH")) {
		if filepath.IsAbs(dir) && holdsPostgres(dir) {
			return linked(dir), nil
		}
	}
	for _, place := range places {
		if dir := newest(filepath.Join(s.root, place)); dir != "" {
			return dir, nil
		}
	}
	return "", &Error{
		Op:   "find postgres",
		Err:  fmt.Errorf("%w in %s, PATH, %s", errNoPostgres, EnvBinDir, strings.Join(places, ", ")),
		Hint: installHint,
	}
}

func named(by, dir string) (string, error) {
	if holdsPostgres(dir) {
		return filepath.Abs(dir)
	}
	return "", &Error{
		Op:   "find postgres",
		Err:  fmt.Errorf("%s is %s, which does not hold initdb and postgres", by, dir),
		Hint: "name the directory that holds both, for example the one that pg_config --bindir prints",
	}
}

// linked follows the links that put programs into PATH to the directory that
// holds them all, psql too.
func linked(dir string) string {
	program, err := filepath.EvalSymlinks(filepath.Join(dir, "initdb"))
	if err != nil || !holdsPostgres(filepath.Dir(program)) {
		return dir
	}
	return filepath.Dir(program)
}

// newest returns the directory of the newest supported major version that the
// pattern matches, or nothing.
func newest(pattern string) string {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return ""
	}
	found = slices.DeleteFunc(found, func(dir string) bool {
		return majorOf(dir) < oldestMajor || !holdsPostgres(dir)
	})
	if len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(majorOf(a), majorOf(b)) })
}

// majorOf reads the major version from a path such as .../postgresql/15/bin or
// .../postgresql@15/bin; 0 when there is none.
func majorOf(binDir string) int {
	version := strings.TrimPrefix(filepath.Base(filepath.Dir(binDir)), "postgresql@")
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

func holdsPostgres(dir string) bool {
	return executable(filepath.Join(dir, "initdb")) && executable(filepath.Join(dir, "postgres"))
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
