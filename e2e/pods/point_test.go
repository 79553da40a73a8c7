package pods_test

import (
	"embed"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/overlay"
)

//go:embed points/*.point
var pointFiles embed.FS

//go:embed testdata/crash.go.txt
var crashSource string

//go:embed testdata/clock.go.txt
var clockSource string

// point is a place in the relay to die at.
type point struct {
	name  string
	what  string // what is true there
	table string // the line of a crash table; "" for a place that no table has
	patch *overlay.Patch
}

// points reads them, in the order of their names.
func points() ([]point, error) {
	entries, err := pointFiles.ReadDir("points")
	if err != nil {
		return nil, err
	}
	var list []point
	for _, entry := range entries {
		text, err := pointFiles.ReadFile(path.Join("points", entry.Name()))
		if err != nil {
			return nil, err
		}
		p := point{name: strings.TrimSuffix(entry.Name(), ".point")}
		p.patch, err = overlay.Parse(p.name, string(text), func(key, value string) bool {
			switch key {
			case "what":
				p.what = value
			case "table":
				p.table = value
			default:
				return false
			}
			return true
		})
		if err == nil && (p.what == "" || !strings.Contains(p.patch.Hunks[0].New, `crashAt("`+p.name+`"`)) {
			err = fmt.Errorf("it says not what is true there, or does not die")
		}
		if err != nil {
			return nil, fmt.Errorf("point %s: %w", p.name, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// plant returns the files of a relay that has every point, and whose clock can be set.
func plant(tree *overlay.Tree) (map[string]string, error) {
	list, err := points()
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, p := range list {
		if err := p.patch.Apply(files, tree.Read); err != nil {
			return nil, err
		}
	}
	for file := range files {
		dir := path.Dir(file)
		files[dir+"/planted_crash.go"] = strings.Replace(crashSource, "{{package}}", path.Base(dir), 1)
	}
	return files, setClocks(tree, files)
}

func TestEveryLineOfTheCrashTablesHasAPoint(t *testing.T) {
	t.Parallel()
	list, err := points()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, s := range crashes {
		has[s.table] = true
	}
	for _, p := range list {
		has[p.table] = true
	}
	delete(has, "")
	tree, err := overlay.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lines := append(crashTable(t, tree, "relay/doc.go"), crashTable(t, tree, "relay/retry/doc.go")...)
	for _, line := range lines {
		if !has[line] {
			t.Errorf("no relay dies %q", line)
		}
		delete(has, line)
	}
	for line := range has {
		t.Errorf("no crash table has the line %q", line)
	}
}

// crashTable returns the left column of the table in a package comment.
func crashTable(t *testing.T, tree *overlay.Tree, file string) []string {
	t.Helper()
	text, err := tree.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(f.Doc.Text(), "# Crash table\n")
	table, _, _ := strings.Cut(after, "\n# ")
	row := regexp.MustCompile(`(?m)^\t(\S.*?) {2,}\S`)
	var lines []string
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		lines = append(lines, m[1])
	}
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "dies") {
		t.Fatalf("%s has no crash table", file)
	}
	return lines[1:]
}

func TestEveryPointIsTried(t *testing.T) {
	t.Parallel()
	list, err := points()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if !slices.ContainsFunc(crashes, func(s crash) bool { return s.point == p.name }) {
			t.Errorf("no relay dies at %s", p.name)
		}
	}
}
