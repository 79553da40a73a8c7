package harness

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machine is a fake file system and environment.
type machine struct {
	t    *testing.T
	root string
	env  map[string]string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &machine{t: t, root: root, env: map[string]string{"PATH": "relative"}}
}

// install puts programs into a directory and returns its real path.
func (m *machine) install(dir string, programs ...string) string {
	m.t.Helper()
	for _, program := range programs {
		m.write(filepath.Join(dir, program), "", 0o755)
	}
	return filepath.Join(m.root, dir)
}

func (m *machine) write(path, content string, mode os.FileMode) string {
	m.t.Helper()
	path = filepath.Join(m.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		m.t.Fatal(err)
	}
	return path
}

func (m *machine) search() search {
	return search{root: m.root, getenv: func(name string) string { return m.env[name] }}
}

func (m *machine) wantFound(explicit, want string) {
	m.t.Helper()
	got, err := m.search().find(explicit)
	if err != nil {
		m.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestSearchOrder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	// Each place is added ahead of those that were there.
	m.wantFound("", m.install("/usr/local/opt/postgresql@14/bin", "initdb", "postgres"))
	m.wantFound("", m.install("/usr/local/opt/postgresql@18/bin", "initdb", "postgres"))
	m.wantFound("", m.install("/opt/homebrew/opt/postgresql@16/bin", "initdb", "postgres"))
	m.wantFound("", m.install("/usr/lib/postgresql/14/bin", "initdb", "postgres"))
	m.wantFound("", m.install("/usr/lib/postgresql/17/bin", "initdb", "postgres"))

	inPath := m.install("/usr/bin", "initdb", "postgres")
	clientOnly := m.install("/client/bin", "initdb", "psql")
	m.env["PATH"] = strings.Join([]string{clientOnly, "", inPath}, string(os.PathListSeparator))
	m.wantFound("", inPath)

	links := m.install("/links")
	if err := os.MkdirAll(links, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"initdb", "postgres"} {
		if err := os.Symlink(filepath.Join(inPath, program), filepath.Join(links, program)); err != nil {
			t.Fatal(err)
		}
	}
	m.env["PATH"] = links
	m.wantFound("", inPath)

	m.env[EnvBinDir] = m.install("/named/by/env", "initdb", "postgres")
	m.wantFound("", m.env[EnvBinDir])
	explicit := m.install("/named/by/option", "initdb", "postgres")
	m.wantFound(explicit, explicit)
}

func TestSearchComparesVersionsAsNumbers(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("/usr/lib/postgresql/9.6/bin", "initdb", "postgres")
	m.install("/usr/lib/postgresql/13/bin", "initdb", "postgres")
	m.install("/usr/lib/postgresql/19/bin", "initdb") // only half there
	m.install("/usr/lib/postgresql/99/bin")
	m.write("/usr/lib/postgresql/98/bin/initdb", "", 0o644) // not executable
	m.write("/usr/lib/postgresql/98/bin/postgres", "", 0o644)
	if dir, err := m.search().find(""); err == nil {
		t.Fatalf("found %s, which is too old or incomplete", dir)
	}
	m.install("/usr/lib/postgresql/14/bin", "initdb", "postgres")
	m.wantFound("", m.install("/usr/lib/postgresql/100/bin", "initdb", "postgres"))
}

func TestSearchSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	_, err := newMachine(t).search().find("")
	if !errors.Is(err, errNoPostgres) {
		t.Fatal(err)
	}
	want := "find postgres: no directory with initdb and postgres in HOLDFAST_PG_BIN, PATH, /usr/lib/postgresql/*/bin, " +
		"/opt/homebrew/opt/postgresql@*/bin, /usr/local/opt/postgresql@*/bin; hint: install Postgres 14 or newer " +
		"(Debian and Ubuntu: apt-get install postgresql; macOS: brew install postgresql@18), or set HOLDFAST_PG_BIN to " +
		"the directory that holds initdb and postgres"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestSearchDoesNotReplaceWhatWasNamed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("/usr/lib/postgresql/15/bin", "initdb", "postgres")
	wrong := m.install("/wrong", "psql")

	_, err := m.search().find(wrong)
	wantNamed(t, err, "PostgresOptions.BinDir", wrong)
	m.env[EnvBinDir] = wrong
	_, err = m.search().find("")
	wantNamed(t, err, EnvBinDir, wrong)
}

func wantNamed(t *testing.T, err error, parts ...string) {
	t.Helper()
	var hinted *Error
	if !errors.As(err, &hinted) || errors.Is(err, errNoPostgres) {
		t.Fatalf("error %v", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
}
