package main

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/e2e/overlay"
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
	patch    *overlay.Patch
}

// unchanged is the source as it is.
func unchanged() *mutant { return &mutant{patch: &overlay.Patch{}} }

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

// parse reads a mutant: a patch that says what it is and by what it is caught.
func parse(name, text string) (*mutant, error) {
	m := &mutant{name: name}
	var err error
	m.patch, err = overlay.Parse(name, text, func(key, value string) bool {
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
		default:
			return false
		}
		return true
	})
	if err == nil && (m.what == "" || len(m.caughtBy) == 0) {
		err = fmt.Errorf("it says not what it is, or by what it is caught")
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// isConsumer says whether the bug is in consumers, which chaos itself has.
func (m *mutant) isConsumer() bool {
	return slices.ContainsFunc(m.patch.Hunks, func(h overlay.Hunk) bool { return strings.HasPrefix(h.File, "consumers/") })
}

// apply returns the mutated files of a tree by their names.
func (m *mutant) apply(read func(file string) (string, error)) (map[string]string, error) {
	files := map[string]string{}
	return files, m.patch.Apply(files, read)
}
