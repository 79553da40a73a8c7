package overlay

import (
	_ "embed"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

//go:embed text/crash.go.txt
var crashSource string

// Point is a place in the source at which a process can be made to die.
type Point struct {
	Name  string
	What  string // what is true there
	Table string // the line of a crash table; "" for a place that no table has
	patch *Patch
}

// Points reads the files *.point of a folder, in the order of their names.
func Points(files fs.FS, folder string) ([]Point, error) {
	entries, err := fs.Glob(files, path.Join(folder, "*.point"))
	if err != nil {
		return nil, err
	}
	var list []Point
	for _, entry := range entries {
		text, err := fs.ReadFile(files, entry)
		if err != nil {
			return nil, err
		}
		p := Point{Name: strings.TrimSuffix(path.Base(entry), ".point")}
		p.patch, err = Parse(p.Name, string(text), func(key, value string) bool {
			switch key {
			case "what":
				p.What = value
			case "table":
				p.Table = value
			default:
				return false
			}
			return true
		})
		if err == nil && (p.What == "" || !strings.Contains(p.patch.Hunks[0].New, `crashAt("`+p.Name+`"`)) {
			err = fmt.Errorf("it says not what is true there, or does not die")
		}
		if err != nil {
			return nil, fmt.Errorf("point %s: %w", p.Name, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// Plant returns the files of a source that has every point. A process dies at one when its
// environment says so; see package pods.
func (t *Tree) Plant(points []Point) (map[string]string, error) {
	files := map[string]string{}
	for _, p := range points {
		if err := p.patch.Apply(files, t.Read); err != nil {
			return nil, err
		}
	}
	for file := range files {
		dir := path.Dir(file)
		files[dir+"/planted_crash.go"] = strings.Replace(crashSource, "{{package}}", path.Base(dir), 1)
	}
	return files, nil
}

var tableRow = regexp.MustCompile(`(?m)^\t(\S.*?) {2,}\S`)

// CrashTable returns the left column of the crash table in a package comment.
func (t *Tree) CrashTable(file string) ([]string, error) {
	text, err := t.Read(file)
	if err != nil {
		return nil, err
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return nil, err
	}
	_, after, _ := strings.Cut(f.Doc.Text(), "# Crash table\n")
	table, _, _ := strings.Cut(after, "\n# ")
	var lines []string
	for _, m := range tableRow.FindAllStringSubmatch(table, -1) {
		lines = append(lines, m[1])
	}
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "dies") {
		return nil, fmt.Errorf("%s has no crash table", file)
	}
	return lines[1:], nil
}
