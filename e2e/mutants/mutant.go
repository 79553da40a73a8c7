package main

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed list/*.mutant
var listFiles embed.FS

// mutant is a deliberate bug.
type mutant struct {
	name     string
	what     string   // the bug, in one sentence
	tests    string   // the package whose tests must see it, such as ./hold/saga; chaos must if it is empty
	caughtBy []string // invariants, or tests of that package, of which at least one must see it
	faults   string   // kinds of faults that bring it out; all by default
	window   string   // the stream's dedup window, which may hide it; chaos's by default
	hunks    []hunk
}

// hunk is a replacement in one file.
type hunk struct {
	file     string // below the root of the module
	old, new string
}

const extension = ".mutant"

// mutants reads the list, in the order of the names.
func mutants() ([]*mutant, error) {
	entries, err := fs.ReadDir(listFiles, "list")
	if err != nil {
		return nil, err
	}
	var list []*mutant
	for _, entry := range entries {
		text, err := listFiles.ReadFile(path.Join("list", entry.Name()))
		if err != nil {
			return nil, err
		}
		m, err := parse(strings.TrimSuffix(entry.Name(), extension), string(text))
		if err != nil {
			return nil, fmt.Errorf("mutant %s: %w", entry.Name(), err)
		}
		list = append(list, m)
	}
	return list, nil
}

// parse reads a mutant: lines "name: value", and after a line "file: x" hunks between lines
// of <<<<, ==== and >>>>.
func parse(name, text string) (*mutant, error) {
	m := &mutant{name: name}
	file := ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] == "<<<<" {
			end := slices.Index(lines[i:], ">>>>")
			middle := slices.Index(lines[i:], "====")
			if end < 0 || middle < 0 || middle > end || file == "" {
				return nil, fmt.Errorf("line %d: a hunk is a file, <<<<, ====, >>>>", i+1)
			}
			m.hunks = append(m.hunks, hunk{
				file: file, old: strings.Join(lines[i+1:i+middle], "\n"), new: strings.Join(lines[i+middle+1:i+end], "\n"),
			})
			i += end
			continue
		}
		key, value, _ := strings.Cut(lines[i], ": ")
		switch key {
		case "what":
			m.what = value
		case "caught by":
			m.caughtBy = strings.Split(value, ", ")
		case "tests":
			m.tests = value
		case "faults":
			m.faults = value
		case "window":
			m.window = value
		case "file":
			file = value
		case "":
		default:
			return nil, fmt.Errorf("line %d: %q is no line of a mutant", i+1, lines[i])
		}
	}
	if m.what == "" || len(m.caughtBy) == 0 || len(m.hunks) == 0 {
		return nil, fmt.Errorf("it says not what it is, by what it is caught, or what it replaces")
	}
	return m, nil
}

// isConsumer says whether the bug is in consumers, which chaos itself has.
func (m *mutant) isConsumer() bool {
	return slices.ContainsFunc(m.hunks, func(h hunk) bool { return strings.HasPrefix(h.file, "consumers/") })
}

// apply returns the mutated files by their names. read returns the source of one.
func (m *mutant) apply(read func(file string) (string, error)) (map[string]string, error) {
	files := map[string]string{}
	for _, h := range m.hunks {
		text, ok := files[h.file]
		if !ok {
			var err error
			if text, err = read(h.file); err != nil {
				return nil, err
			}
		}
		if n := strings.Count(text, h.old); n != 1 {
			return nil, fmt.Errorf("mutant %s: its text is in %s %d times, and must be there once:\n%s", m.name, h.file, n, h.old)
		}
		files[h.file] = strings.Replace(text, h.old, h.new, 1)
	}
	return files, nil
}
